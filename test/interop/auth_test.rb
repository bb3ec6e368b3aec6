# frozen_string_literal: true

require_relative "interop_case"
require_relative "../conformance/authenticated"

# Godwit::Auth with clients of pyzmq, its authenticator with Godwit's clients, and the certificates
# that each writes and the other reads. CZMQ's: czmq_test.rb.
class InteropAuthTest < InteropCase
  include Conformance::Authenticated

  def setup
    super
    @server = Godwit::Cert.new("server")
  end

  def path(*names) = File.join(scratch_dir, *names)

  def protected_server = server(curve: @server, auth: "test")

  def pyzmq_client(keys)
    python.socket(
      :REQ, CURVE_PUBLICKEY: keys[0], CURVE_SECRETKEY: keys[1], CURVE_SERVERKEY: @server.public_key
    )
  end

  def keys_of(cert) = [cert.public_key, cert.keypair.secret_key]

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
    rep = python.socket(:REP, CURVE_SERVER: 1, CURVE_PUBLICKEY: @server.public_key,
      CURVE_SECRETKEY: @server.keypair.secret_key)
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
end
