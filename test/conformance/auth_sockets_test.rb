# frozen_string_literal: true

require "socket"
require_relative "case"
require_relative "authenticated"

# The option `auth:` of a socket, and which messages have a user id.
class AuthSocketsTest < Conformance::Case
  include Conformance::Authenticated

  # A ZMTP 3.0 client that sends these metadata properties.
  def forge(port, **properties)
    own(TCPSocket.new("127.0.0.1", port)).tap do |peer|
      greet(peer, "NULL", server: false)
      send_ready(peer, **properties)
      read_command(peer)
    end
  end

  def greet(peer, mechanism, server:)
    peer.write(
      ["FF00000000000000017F0300"].pack("H*"), mechanism.ljust(20, "\0"), server ? "\1" : "\0",
      "\0" * 31
    )
    assert_equal 64, peer.read(64).bytesize
  end

  def send_ready(peer, **properties)
    send_command(
      peer,
      properties.inject("\5READY".b) { |text, (name, value)|
        name = name.to_s.tr("_", "-")
        text + [name.bytesize, name, value.bytesize, value].pack("Ca*Na*").b
      }
    )
  end

  def send_command(peer, body) = peer.write([4, body.bytesize].pack("CC"), body)

  # @return [String] the body of the received command
  def read_command(peer)
    flags, size = peer.read(2).unpack("CC")
    assert_equal 4, flags
    peer.read(size)
  end

  def send_raw(peer, text) = peer.write([0, text.bytesize].pack("CC"), text)

  def test_it_sets_the_domain_and_the_handshake_timeout
    socket = open_socket(:REP, auth: "billing")
    assert_equal ["billing", true, 10],
      [socket.zap_domain, socket.zap_enforce_domain?, socket.handshake_timeout]
    assert_equal 3, open_socket(:REP, auth: "billing", handshake_timeout: 3).handshake_timeout
    assert_nil open_socket(:REP, auth: "billing", handshake_timeout: nil).handshake_timeout
    assert_equal 30, open_socket(:REP).handshake_timeout
    other = own(Godwit::Context.new(socket_options: {handshake_timeout: 7, zap_domain: "all"}))
    own(Godwit::REP.new(context: other, auth: "billing")).tap do |one|
      assert_equal [7, "billing"], [one.handshake_timeout, one.zap_domain]
    end
  end

  def test_what_does_not_go_with_auth
    keys = Godwit::Curve.keypair
    {
      {auth: ""} => /auth: takes a domain of 1 to 255 bytes/,
      {auth: "a\0"} => /auth: takes a domain/,
      {auth: "a" * 256} => /auth: takes a domain/,
      {zap_domain: "b"} => /leave them out/,
      {zap_domain: nil} => /leave them out/,
      {zap_enforce_domain: false} => /leave them out/,
      {plain: %w[anna secret]} => /make the socket a client/,
      {plain_username: "anna"} => /make the socket a client/,
      {gssapi_server: true} => /GSSAPI.*leave gssapi_server: out/,
      {gssapi_principal: "x"} => /GSSAPI/,
      {curve: keys, server_key: keys.public_key} => /make the socket a client/,
      {curve_server_key: keys.public_key} => /make the socket a client/
    }.each do |options, words|
      assert_named(Godwit::ArgumentValueError, words) { open_socket(:REP, auth: "b", **options) }
    end
    type, value = Godwit::ArgumentTypeError, Godwit::ArgumentValueError
    [5, :billing, true, false].each do |domain|
      assert_named(type, /auth: takes a domain/) { open_socket(:REP, auth: domain) }
    end
    assert_named(value, /STREAM/) { open_socket(:STREAM, auth: "b") }
    assert_named(value, /router_raw/) { open_socket(:ROUTER, auth: "b", router_raw: true) }
    assert_nil open_socket(:REP).zap_domain
    cert = Godwit::Cert.new("server", public_key: keys.public_key)
    assert_named(Godwit::CurveKeyError, /NAME\.key_secret/) { open_socket(:REP, curve: cert) }
    other = own(Godwit::Context.new(socket_options: {plain_username: "a", plain_password: "b"}))
    assert_named(value, /make the socket a client/) { Godwit::REP.new(context: other, auth: "b") }
  end

  def test_nothing_takes_it_back
    socket = open_socket(:ROUTER, auth: "b")
    {zap_domain: "c", zap_enforce_domain: false, plain_username: "a", plain_password: "b",
     router_raw: true, plain_server: true, curve_server: false}.each do |name, value|
      assert_named(Godwit::OptionError, /fixed by auth:/) { socket.set(name, value) }
    end
    assert_equal ["b", true], [socket.zap_domain, socket.zap_enforce_domain?]
  end

  def test_inproc_has_no_security
    socket = open_socket(:REP, auth: "b")
    %i[bind connect].each do |operation|
      says = /auth: needs a handshake.*tcp:/
      assert_named(Godwit::EndpointError, says, operation: operation) do
        socket.public_send(operation, "inproc://somewhere")
      end
    end
  end

  # A ws client that offers no mechanism sends its messages without a handshake.
  def test_ws_is_refused
    skip "this libzmq has no ws" unless Godwit.has?(:ws)
    [{}, {curve: Godwit::Curve.keypair}].each do |options|
      assert_named(Godwit::EndpointError, /auth: needs a handshake, which ws does not enforce/) do
        open_socket(:PULL, auth: "b", **options).bind("ws://127.0.0.1:*")
      end
    end
  end

  def test_a_user_id_is_the_authenticators_alone
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    send_raw(forge(pull.port, Socket_Type: "PUSH", User_Id: "admin"), "trust me")
    frame = pull.recv_frame(timeout: PATIENCE)
    assert_equal ["trust me", "admin", nil], [frame.to_s, frame.property("User-Id"), frame.user_id]

    auth
    pull = open_socket(:PULL, auth: "b").bind(endpoint_for(:tcp))
    send_raw(forge(pull.port, Socket_Type: "PUSH", User_Id: "admin"), "trust me")
    message = pull.recv_message(timeout: PATIENCE)
    assert_equal [["trust me"], nil, nil], [message.to_a, message.user_id, message[0].user_id]
    assert_equal "", message[0].property("User-Id")
  end

  # With zap_domain but without an Auth in the context, libzmq accepts all clients.
  def test_a_domain_that_is_not_enforced_gives_no_user_id
    stopped = open_socket(:PULL, zap_domain: "b", zap_enforce_domain: true)
    stopped.zap_enforce_domain = false
    [open_socket(:PULL, zap_domain: "b"), stopped].each do |pull|
      pull.bind(endpoint_for(:tcp))
      send_raw(forge(pull.port, Socket_Type: "PUSH", User_Id: "admin"), "trust me")
      assert_nil pull.recv_frames(timeout: PATIENCE)[0].user_id
    end
  end

  # libzmq sends ZAP requests about clients, but not about the server that a client connects to.
  def test_a_client_gets_no_user_id
    listener = own(TCPServer.new("127.0.0.1", 0))
    pull = open_socket(:PULL, plain: %w[a b], zap_domain: "b", zap_enforce_domain: true)
    pull.connect("tcp://127.0.0.1:#{listener.addr[1]}")
    peer = own(listener.accept)
    greet(peer, "PLAIN", server: true)
    assert_match(/HELLO/, read_command(peer))
    send_command(peer, "\7WELCOME")
    assert_match(/INITIATE/, read_command(peer))
    send_ready(peer, Socket_Type: "PUSH", User_Id: "admin")
    send_raw(peer, "trust me")
    frame = pull.recv_frame(timeout: PATIENCE)
    assert_equal ["admin", nil], [frame.property("User-Id"), frame.user_id]
  end

  def granted(type, **options)
    auth.plain { |name, _, _| name }
    open_socket(type, plain_server: true, auth: "b", **options).bind(endpoint_for(:tcp))
  end

  def test_every_method_that_receives_frames_gives_the_user_id
    pull = granted(:PULL)
    push = open_socket(:PUSH, plain: %w[anna x]).connect(pull.last_endpoint)
    push << %w[two three] << "four" << %w[five six]
    frame, * = frames = Array.new(2) { pull.recv_frame(timeout: PATIENCE) }
    assert_equal %w[anna anna], frames.map(&:user_id)
    assert_equal "anna", pull.recv_message(timeout: PATIENCE).user_id
    assert_equal %w[anna anna], pull.recv_frames(timeout: PATIENCE).map(&:user_id)
    assert_equal ["anna", Encoding::UTF_8, true],
      [frame.dup.user_id, frame.user_id.encoding, frame.user_id.frozen?]
    own = [Godwit::Frame.new("x"), Godwit::Message.new("x"), Godwit::Message.new]
    assert_equal [nil, nil, nil], own.map(&:user_id)
  end

  def test_a_message_keeps_its_user_id_without_its_address
    router = granted(:ROUTER)
    open_socket(:DEALER, plain: %w[anna x]).connect(router.last_endpoint) << ["", "hello"]
    message = router.recv_message(timeout: PATIENCE)
    assert_equal "anna", message.user_id
    address = message.unwrap
    assert_equal [["hello"], "anna"], [message.to_a, message.user_id]
    message.wrap(address.to_s)
    assert_equal "anna", message.user_id
  end

  def test_serve_and_its_on_error_yield_messages
    rep = granted(:REP)
    shown = ->(message) { [message.class.name, message.user_id, *message.to_a] }
    in_thread do
      rep.serve(messages: true, on_error: ->(_, message) { shown.call(message) }) do |message|
        (message.size == 1) ? raise("no") : shown.call(message)
      end
    end
    req = open_socket(:REQ, plain: %w[anna x]).connect(rep.last_endpoint)
    ["c", %w[a b]].each do |frames|
      assert_equal ["Godwit::Message", "anna", *frames], req.request(frames, timeout: PATIENCE)
    end

    router = granted(:ROUTER)
    in_thread do
      router.serve(messages: true) do |message|
        body = message.to_a.last
        message.pop
        (body == "none") ? nil : message.push("#{body} #{message.user_id}")
      end
    end
    req = open_socket(:REQ, plain: %w[otto x]).connect(router.last_endpoint)
    assert_raises(Godwit::TimeoutError) { req.request("none", timeout: 0.05) }
    assert_equal "hello otto", req.request("hello", timeout: PATIENCE)
  end

  # ZMTP 1.0 and 2.0 have no security: a socket with an authenticator refuses such peers.
  def test_old_peers_are_refused
    auth
    pull = open_socket(:PULL, auth: "b").bind(endpoint_for(:tcp))
    ["\1\0", "#{["FF00000000000000017F01"].pack("H*")}\x08\0\0"].each do |greeting|
      peer = own(TCPSocket.new("127.0.0.1", pull.port))
      assert_nil sent_and_dropped(peer, greeting)
    end
    assert_nil pull.recv(timeout: 0, exception: false)
  end

  # @return [nil] when the server has ended the connection
  def sent_and_dropped(peer, greeting)
    peer.write(greeting, "\6\0hello", "\0\5hello")
    loop { peer.readpartial(100) }
  rescue SystemCallError, EOFError
    nil
  end
end
