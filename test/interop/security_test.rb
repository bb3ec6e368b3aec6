# frozen_string_literal: true

require_relative "interop_case"

# NULL, PLAIN and CURVE with pyzmq on the other side, and pyzmq's authenticator (ZAP) in front of
# Godwit's clients.
class InteropSecurityTest < InteropCase
  PASSWORDS = {"anna" => "secret"}.freeze
  # The event that the refusing side sees of a failed handshake, as libzmq names it.
  # ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC
  NOT_DECRYPTED = ["HANDSHAKE_FAILED_PROTOCOL", 0x11000001].freeze
  NOT_ALLOWED = ["HANDSHAKE_FAILED_AUTH", 400].freeze # of ZAP

  # @return [Array<Godwit::Curve::Keypair>] one made by Ruby, one by the peer
  def keypairs
    [Godwit::Curve.keypair, theirs_as_ours(python.keypair)].shuffle(
      random: Random.new(Minitest.seed.to_i)
    )
  end

  def theirs_as_ours(keys)
    Godwit::Curve::Keypair.new(public_key: keys[0], secret_key: keys[1])
  end

  def curve_server(keys)
    {CURVE_SERVER: 1, CURVE_PUBLICKEY: keys.public_key, CURVE_SECRETKEY: keys.secret_key}
  end

  def curve_client(keys, server_key)
    {
      CURVE_PUBLICKEY: keys.public_key, CURVE_SECRETKEY: keys.secret_key,
      CURVE_SERVERKEY: server_key
    }
  end

  def plain_client(name, password) = {PLAIN_USERNAME: name, PLAIN_PASSWORD: password}

  # A request and its reply, whichever side is which.
  def assert_talks(ours, theirs)
    if ours.is_a?(Godwit::REQ)
      ours.send ["question", ""]
      assert_equal ["question", ""], theirs.recv
      theirs.send "answer"
      assert_equal "answer", ours.recv(timeout: PATIENCE)
    else
      theirs.send "question", ""
      assert_equal ["question", ""], received(ours)
      ours.send "answer"
      assert_equal ["answer"], theirs.recv
    end
  end

  # Both sides may notice; the second side only sees the end of the connection.
  def assert_no_handshake(theirs)
    event =
      theirs.event(
        "HANDSHAKE_SUCCEEDED", "HANDSHAKE_FAILED_PROTOCOL", "HANDSHAKE_FAILED_NO_DETAIL",
        "DISCONNECTED"
      )
    assert event, "pyzmq saw nothing"
    refute_equal "HANDSHAKE_SUCCEEDED", event.first
  end

  def assert_times_out(request)
    assert_raises(Godwit::TimeoutError) { request.request("question", timeout: REFUSED) }
  end

  each_binder "REQ is a CURVE client of pyzmq's REP" do |transport, binder|
    server, client = keypairs
    rep = python.socket(:REP, **curve_server(server))
    req = open_socket(:REQ, curve: client, server_key: server.public_key)
    join(req, rep, binder: binder, transport: transport)
    assert_talks req, rep
    assert_equal :curve, req.mechanism
  end

  each_binder "REP is the CURVE server of pyzmq's REQ" do |transport, binder|
    server, client = keypairs
    rep = open_socket(:REP, curve: server)
    req = python.socket(:REQ, **curve_client(client, server.public_key))
    join(rep, req, binder: binder, transport: transport)
    assert_talks rep, req
  end

  test "pyzmq's CURVE server refuses a REQ that has the wrong server key" do
    server, client = keypairs
    rep = python.socket(:REP, **curve_server(server)).monitor
    req = open_socket(:REQ, curve: client, server_key: Godwit::Curve.keypair.public_key)
    req.connect(rep.bind(endpoint_for(:tcp)))
    assert_equal NOT_DECRYPTED,
      rep.event(
        "HANDSHAKE_SUCCEEDED", "HANDSHAKE_FAILED_PROTOCOL", "HANDSHAKE_FAILED_NO_DETAIL"
      )
    assert_times_out req
    assert_nil rep.recv(timeout: 0)
  end

  test "a CURVE server of Godwit refuses pyzmq's REQ that has the wrong server key" do
    server, client = keypairs
    rep = open_socket(:REP, curve: server).bind(endpoint_for(:tcp))
    req = python.socket(:REQ, **curve_client(client, Godwit::Curve.keypair.public_key)).monitor
    req.connect(rep.last_endpoint)
    req.send "question"
    assert_nil rep.recv(timeout: REFUSED, exception: false)
    assert_no_handshake req
    good = python.socket(:REQ, **curve_client(client, server.public_key)).connect(rep.last_endpoint)
    assert_talks rep, good
  end

  test "a peer with another mechanism is refused, by either side" do
    rep = python.socket(:REP).monitor
    req =
      open_socket(:REQ, curve: Godwit::Curve.keypair, server_key: Godwit::Curve.keypair.public_key)
    req.connect(rep.bind(endpoint_for(:tcp)))
    assert_times_out req
    assert_no_handshake rep

    rep = open_socket(:REP, curve: Godwit::Curve.keypair).bind(endpoint_for(:tcp))
    req = python.socket(:REQ).monitor.connect(rep.last_endpoint)
    begin
      req.send "in the clear"
    rescue Minitest::Assertion => error
      # The client was refused before, and libzmq's client then gives up.
      assert_match(/EAGAIN/, error.message)
    end
    assert_nil rep.recv(timeout: REFUSED, exception: false)
    assert_no_handshake req
  end

  test "both sides make the same public key and Z85 of the same bytes" do
    public_key, secret_key = python.keypair
    assert_equal public_key, Godwit::Curve.public_key(secret_key)
    ours = Godwit::Curve.keypair
    assert_equal ours.public_key, python.ask(:curve_public, secret: ours.secret_key)
    bytes = Random.new(2).bytes(64)
    assert_equal python.ask(:z85, data: [bytes].pack("m0")), Godwit::Z85.encode(bytes)
  end

  test "pyzmq's authenticator accepts only CURVE keys that it knows" do
    server, known = keypairs
    python.ask(:authenticate, keys: [known.public_key])
    rep = python.socket(:REP, **curve_server(server)).monitor
    endpoint = rep.bind(endpoint_for(:tcp))
    req = open_socket(:REQ, curve: known, server_key: server.public_key).connect(endpoint)
    req.send "who am I?"
    assert_equal known.public_key, rep.user_id
    rep.send "known"
    assert_equal "known", req.recv(timeout: PATIENCE)

    stranger =
      open_socket(:REQ, curve: Godwit::Curve.keypair, server_key: server.public_key).connect(
        endpoint
      )
    assert_equal NOT_ALLOWED, rep.event("HANDSHAKE_FAILED_AUTH")
    assert_times_out stranger
  end

  each_binder "PLAIN: pyzmq's authenticator accepts clients by password" do |transport, binder|
    python.ask(:authenticate, plain: PASSWORDS)
    rep = python.socket(:REP, PLAIN_SERVER: 1)
    req = open_socket(:REQ, plain: %w[anna secret])
    join(req, rep, binder: binder, transport: transport)
    req.send "who am I?"
    assert_equal "anna", rep.user_id
    rep.send "known"
    assert_equal "known", req.recv(timeout: PATIENCE)
    assert_equal :plain, req.mechanism
  end

  test "PLAIN: pyzmq's authenticator refuses a wrong password and an unknown name" do
    python.ask(:authenticate, plain: PASSWORDS)
    rep = python.socket(:REP, PLAIN_SERVER: 1).monitor
    endpoint = rep.bind(endpoint_for(:tcp))
    [%w[anna wrong], %w[otto secret]].each do |plain|
      req = open_socket(:REQ, plain: plain).connect(endpoint)
      assert_equal NOT_ALLOWED, rep.event("HANDSHAKE_SUCCEEDED", "HANDSHAKE_FAILED_AUTH")
      assert_times_out req
    end
    assert_nil rep.recv(timeout: 0)
  end

  test "PLAIN: without an authenticator a server of Godwit refuses pyzmq with any password" do
    rep = open_socket(:REP, plain_server: true).bind(endpoint_for(:tcp))
    req = python.socket(:REQ, **plain_client("anna", "secret")).monitor.connect(rep.last_endpoint)
    req.send "question"
    assert_no_handshake req
    assert_nil rep.recv(timeout: 0, exception: false)
  end

  # ZAP is a REP at a well-known name of the server's context: RFC 27.
  test "PLAIN: a REP of Godwit that speaks ZAP decides about pyzmq's clients" do
    zap = open_socket(:REP).bind("inproc://zeromq.zap.01")
    # A refused client of libzmq gives up: its later messages have no peer.
    sent = Queue.new
    in_thread do
      zap.serve do |version, id, _domain, _address, _identity, mechanism, name, password|
        known = mechanism == "PLAIN" && PASSWORDS[name] == password
        sent.pop unless known
        [version, id, *(known ? ["200", "OK", name, ""] : ["400", "No", "", ""])]
      end
    end
    rep = open_socket(:REP, plain_server: true).bind(endpoint_for(:tcp))
    good = python.socket(:REQ, **plain_client("anna", "secret")).connect(rep.last_endpoint)
    assert_talks rep, good
    bad = python.socket(:REQ, **plain_client("anna", "wrong")).monitor.connect(rep.last_endpoint)
    bad.send "question"
    sent.close
    assert_equal NOT_ALLOWED, bad.event("HANDSHAKE_SUCCEEDED", "HANDSHAKE_FAILED_AUTH")
    assert_nil rep.recv(timeout: REFUSED, exception: false)
  end
end
