# frozen_string_literal: true

require_relative "interop_case"
require_relative "czmq_peer"
require_relative "../conformance/authenticated"

# Godwit::Auth with clients of pyzmq, CZMQ and libzmq's C, their authenticators with Godwit's
# clients, and the certificates that each writes and the others read.
class InteropAuthTest < InteropCase
  include Conformance::Authenticated

  PASSWORDS = {"anna" => "secret"}.freeze
  NOT_ALLOWED = ["HANDSHAKE_FAILED_AUTH", 400].freeze # of ZAP

  def setup
    super
    skip Godwit::TestSupport::CzmqPeer.missing if Godwit::TestSupport::CzmqPeer.missing
    @server = Godwit::Cert.new("server")
  end

  def path(*names) = File.join(scratch_dir, *names)

  # @return [Godwit::TestSupport::CzmqPeer]
  def czmq
    @czmq ||= Godwit::TestSupport::CzmqPeer.new(
      start_command([Godwit::TestSupport::CzmqPeer.program])
    ).tap { |peer| (@peers ||= []) << peer }
  end

  # @return [Array<String>] the lines of czmq_certs.c
  def certs(*words, status: 0)
    result = start_command(
      [Godwit::TestSupport::CzmqPeer.program("czmq_certs"), *words]
    ).finish
    assert_equal status, result.status.exitstatus, result.to_s
    result.stdout.lines(chomp: true)
  end

  # A process of libzmq_auth.c.
  def libzmq(*words)
    start_command(
      [Godwit::TestSupport::CzmqPeer.program("libzmq_auth", libraries: ["libzmq"]), *words]
    )
  end

  def protected_server(transport = :tcp) = server(transport, curve: @server, auth: "test")

  def pyzmq_client(keys)
    python.socket(
      :REQ, CURVE_PUBLICKEY: keys[0], CURVE_SECRETKEY: keys[1], CURVE_SERVERKEY: @server.public_key
    )
  end

  def czmq_client(keys)
    czmq.socket(
      :REQ, curve_publickey: keys[0], curve_secretkey: keys[1], curve_serverkey: @server.public_key
    )
  end

  def keys_of(cert) = [cert.public_key, cert.keypair.secret_key]

  # @return [String] what it says
  def c_client(rep, *words)
    assert_child(libzmq("client", rep.last_endpoint, *words).finish).stdout
  end

  %i[tcp ipc].each do |transport|
    test "Auth decides about clients of pyzmq over #{transport}" do
      keys = python.keypair
      auth.curve(keys: {"py" => keys[0]})
      rep = protected_server(transport)
      good = pyzmq_client(keys).connect(rep.last_endpoint)
      good.send "who am I?"
      assert_equal ["py"], good.recv
      bad = pyzmq_client(python.keypair).monitor.connect(rep.last_endpoint)
      assert_equal NOT_ALLOWED, bad.event("HANDSHAKE_SUCCEEDED", "HANDSHAKE_FAILED_AUTH")
      assert_equal [200, 400], [decision.status, decision.status]
    end

    test "Auth decides about clients of CZMQ over #{transport}" do
      keys = czmq.keypair
      auth.curve(keys: {"czmq" => keys[0]})
      rep = protected_server(transport)
      good = czmq_client(keys).connect(rep.last_endpoint)
      good.send "who am I?"
      assert_equal ["czmq"], good.recv
      czmq_client(czmq.keypair).connect(rep.last_endpoint)
      assert_equal [200, 400], [decision.status, decision.status]
    end

    test "Auth decides about clients of libzmq's C over #{transport}" do
      anna = Godwit::Cert.new("anna")
      auth.curve(keys: {"anna" => anna.public_key}).plain(users: PASSWORDS)
      rep = protected_server(transport)
      assert_equal "reply: anna\n", c_client(rep, "curve", *keys_of(anna), @server.public_key)
      stranger = Godwit::Cert.new("stranger")
      assert_equal "refused: 400\n",
        c_client(rep, "curve", *keys_of(stranger), @server.public_key)
      plain = server(transport, plain_server: true, auth: "test")
      assert_equal "reply: anna\n", c_client(plain, "plain", "anna", "secret")
      assert_equal "refused: 400\n", c_client(plain, "plain", "anna", "guess")
      null = server(transport, auth: "null")
      assert_equal "reply: nobody\n", c_client(null, "null")
      auth.allow("10.0.0.0/8")
      assert_equal "refused: 400\n", c_client(null, "null")
    end

    test "a client of libzmq's C comes back by itself after a 300 over #{transport}" do
      anna = Godwit::Cert.new("anna")
      refusals = 2
      auth.curve { (refusals -= 1).negative? ? "anna" : raise("the database is down") }
      rep = server(transport, curve: @server, auth: "test", handshake_timeout: 1)
      said = warnings do
        assert_equal "reply: anna\n", c_client(rep, "curve", *keys_of(anna), @server.public_key)
      end
      assert_includes said, "the database is down"
      assert_equal [300, 300, 200], Array.new(3) { decision.status }
    end

    test "a ZAP handler of libzmq's C decides about Godwit's clients over #{transport}" do
      anna = Godwit::Cert.new("anna")
      curve_server = libzmq(
        "server", endpoint_for(transport), "curve", @server.keypair.secret_key, anna.public_key
      )
      endpoint = curve_server.wait_for(/^.*\n/).stdout.lines.first.chomp.delete("\0")
      req = open_socket(:REQ, curve: anna, server_key: @server).connect(endpoint)
      assert_equal "known to C", req.request("who am I?", timeout: PATIENCE)
      stranger = open_socket(:REQ, curve: Godwit::Cert.new, server_key: @server)
      assert_refused(stranger, endpoint)
      assert_child curve_server.finish

      plain_server = libzmq("server", endpoint_for(transport), "plain", "anna", "secret")
      endpoint = plain_server.wait_for(/^.*\n/).stdout.lines.first.chomp.delete("\0")
      req = open_socket(:REQ, plain: %w[anna secret]).connect(endpoint)
      assert_equal "known to C", req.request("who am I?", timeout: PATIENCE)
      assert_refused(open_socket(:REQ, plain: %w[anna guess]), endpoint)
      assert_child plain_server.finish
    end
  end

  def assert_refused(socket, endpoint)
    monitor = own(socket.monitor(:handshake_failed_auth))
    socket.connect(endpoint)
    assert_equal 400, monitor.next_event(timeout: PATIENCE).value
  end

  test "pyzmq's ThreadAuthenticator reads the certificates that Godwit wrote" do
    anna = Godwit::Cert.new("anna", metadata: {"email" => "a@b"})
    Dir.mkdir(path("clients"))
    anna.save_public(path("clients"))
    python.ask(:authenticate, location: path("clients"))
    rep = python.socket(
      :REP, CURVE_SERVER: 1, CURVE_PUBLICKEY: @server.public_key,
      CURVE_SECRETKEY: @server.keypair.secret_key
    )
    endpoint = rep.bind(endpoint_for(:tcp))
    req = open_socket(:REQ, curve: anna, server_key: @server).connect(endpoint)
    req.send "who am I?"
    assert_equal anna.public_key, rep.user_id
    rep.send "known"
    assert_equal "known", req.recv(timeout: PATIENCE)
    assert_refused(open_socket(:REQ, curve: Godwit::Cert.new, server_key: @server), endpoint)
  end

  test "pyzmq loads what Godwit wrote, and Godwit what pyzmq wrote" do
    anna = Godwit::Cert.new("anna", metadata: {"email" => "a@b", "said" => 'so "it" is'})
    public_file, secret_file = anna.save(scratch_dir)
    assert_equal [anna.public_key, nil], python.ask(:load_certificate, path: public_file)
    assert_equal keys_of(anna), python.ask(:load_certificate, path: secret_file)

    Dir.mkdir(path("theirs"))
    metadata = {"full name" => "Örs \"the\" Tester", "email" => "o@b"}
    files = python.ask(:create_certificates, dir: path("theirs"), name: "ors", metadata: metadata)
    cert = Godwit::Cert.load(files[0])
    assert_equal ["ors", {}, false], [cert.name, cert.metadata, cert.secret?], "as pyzmq has it"
    error = assert_raises(Godwit::CertError) { Godwit::Cert.load(files[1]) }
    assert_match(/chmod 600 .*pyzmq/, error.message)
    File.chmod(0o600, files[1])
    secret = Godwit::Cert.load(files[1])
    assert_equal [cert.public_key, metadata], [secret.public_key, secret.metadata]

    auth.curve(dir: path("theirs"))
    good = pyzmq_client(python.ask(:load_certificate, path: files[1]))
    good.connect(protected_server.last_endpoint)
    good.send "who am I?"
    assert_equal ["ors"], good.recv
  end

  test "CZMQ loads what Godwit wrote, and Godwit what CZMQ wrote" do
    metadata = {"email" => "a@b", "said" => 'so "it" is', "name" => "Anna"}
    anna = Godwit::Cert.new(metadata: metadata)
    public_file, secret_file = anna.save(scratch_dir)
    # zcert_load takes the name of the public file, and reads the secret one beside it.
    loaded = certs("load", public_file)
    assert_equal keys_of(anna), loaded.first(2)
    assert_equal metadata.map { |pair| pair.join("=") }.sort, loaded.drop(2).sort
    File.unlink(secret_file)
    assert_equal [anna.public_key, "0" * 40], certs("load", public_file).first(2)

    keys = certs("save", path("otto.key"), "email", "o@b", "full name", "Otto O'Neill")
    cert = Godwit::Cert.load(path("otto.key"))
    assert_equal ["otto", keys[0], {"email" => "o@b", "full name" => "Otto O'Neill"}],
      [cert.name, cert.public_key, cert.metadata]
    assert_equal keys, keys_of(Godwit::Cert.load(path("otto.key_secret")))
  end

  test "CZMQ's zcertstore finds Godwit's certificates, and CertStore those of CZMQ" do
    Dir.mkdir(path("ours"))
    anna = Godwit::Cert.new("anna", metadata: {"email" => "a@b"})
    anna.save_public(path("ours"))
    assert_equal ["email=a@b"], certs("lookup", path("ours"), anna.public_key)
    assert_empty certs("lookup", path("ours"), Godwit::Cert.new.public_key, status: 1)

    Dir.mkdir(path("theirs"))
    keys = certs("save", path("theirs", "otto.key"), "email", "o@b")
    store = Godwit::CertStore.new(path("theirs"))
    assert_equal ["otto", {"email" => "o@b"}],
      [store.by_key(keys[0]).name, store["otto"].metadata]
    assert_equal ["otto"], store.map(&:name)
    assert_empty store.problems
  end

  test "CZMQ's zauth decides by the certificates that Godwit wrote" do
    Dir.mkdir(path("clients"))
    anna = Godwit::Cert.new("anna")
    anna.save_public(path("clients"))
    czmq.authenticate("CURVE", path("clients"))
    rep = czmq.socket(
      :REP, zap_domain: "test", curve_publickey: @server.public_key,
      curve_secretkey: @server.keypair.secret_key, curve_server: true
    )
    endpoint = rep.bind(endpoint_for(:tcp))
    req = open_socket(:REQ, curve: anna, server_key: @server).connect(endpoint)
    req.send "question"
    assert_equal ["question"], rep.recv
    assert_refused(open_socket(:REQ, curve: Godwit::Cert.new, server_key: @server), endpoint)
  end

  test "Auth and CZMQ's zauth read the same file of passwords" do
    File.write(path("passwords"), "# users\nanna=secret\n", perm: 0o600)
    auth.plain(file: path("passwords"))
    rep = server(plain_server: true, auth: "test")
    good = czmq.socket(:REQ, plain_username: "anna", plain_password: "secret")
    good.connect(rep.last_endpoint).send "who am I?"
    assert_equal ["anna"], good.recv
    czmq.socket(:REQ, plain_username: "anna", plain_password: "guess").connect(rep.last_endpoint)
    assert_equal [200, 400], [decision.status, decision.status]
    czmq.authenticate("PLAIN", path("passwords"))
    theirs = czmq.socket(:REP, plain_server: true)
    endpoint = theirs.bind(endpoint_for(:tcp))
    open_socket(:REQ, plain: %w[anna secret]).connect(endpoint).send "question"
    assert_equal ["question"], theirs.recv
  end
end
