# frozen_string_literal: true

# libzmq: test_security_curve, test_security_no_zap_handler, test_security_plain

require "test_helper"
require_relative "assertions"

class CurveSecurityTest < Godwit::TestCase
  include Conformance::Assertions

  NETWORK = %i[tcp ipc].freeze # libzmq does no security over inproc

  def setup
    super
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    @server = Godwit::Curve.keypair
    @client = Godwit::Curve.keypair
  end

  def rep(transport = :tcp, **options)
    open_socket(:REP, curve: @server, **options)
      .bind(endpoint_for(transport))
      .tap { |socket| in_thread { socket.serve(&:itself) } }
  end

  # Quick to give up and to connect again.
  def req(rep, **options)
    open_socket(:REQ, reconnect_interval: 0.01, **options).connect(rep.last_endpoint)
  end

  # Only silence shows that a client is refused; a good client that is served afterwards shows that
  # there was time enough.
  def assert_refused(rep, **options)
    bad = req(rep, **options)
    sent = ask(bad)
    assert_equal "served",
      req(rep, curve: @client, server_key: @server.public_key).request(
        "served", timeout: 5
      )
    assert_unserved(bad, sent)
    assert_equal "served",
      req(rep, curve: @client, server_key: @server.public_key).request(
        "served", timeout: 5
      )
  end

  test "other classes hand a nil of security on as it is" do
    url = "tcp://127.0.0.1:*"
    [[Godwit::Logger, url], [Godwit::LogDevice, url], [Godwit::Logger::Reader, url],
      [Godwit::Logger::Broadcaster, url, url], [Godwit::Logger::Control, "tcp://127.0.0.1:9"],
      [Godwit::Perf::Server, url],
      [Godwit::Perf.method(:latency), "tcp://127.0.0.1:9"],
      [Godwit::Perf.method(:throughput), "tcp://127.0.0.1:9"]].each do |made, *arguments|
      message = (made.is_a?(Method) ? :call : :new)
      error = assert_raises(Godwit::ArgumentValueError, made.inspect) do
        made.public_send(message, *arguments, curve: @client, server_key: nil)
      end
      assert_match(/\Anew: server_key: is nil: /, error.message)
    end
    error = assert_raises(Godwit::ArgumentValueError) do
      Godwit::Context.new(socket_options: {plain_username: nil, plain_password: "secret"})
    end
    assert_match(/\Anew: plain_username: is nil: /, error.message)
    Godwit::Context.new do |context|
      auth = Godwit::Auth.new(context: context)
      error = assert_raises(Godwit::ArgumentValueError) { auth.curve(dir: scratch_dir, keys: nil) }
      assert_match(/\Acurve: keys: is nil: /, error.message)
      auth.close
    end
  end

  each_transport("the server may connect, the client bind", only: NETWORK) do |transport|
    client =
      open_socket(:PULL, curve: @client, server_key: @server.public_key).bind(
        endpoint_for(transport)
      )
    server = open_socket(:PUSH, curve: @server).connect(client.last_endpoint)
    assert_flows(server, client)
  end

  test "a client of PLAIN is refused" do
    assert_refused rep, plain: %w[user secret]
  end

  test "a client of CURVE is not served by a server without it" do
    open = open_socket(:REP).bind(endpoint_for(:tcp))
    in_thread { open.serve(&:itself) }
    secret = req(open, curve: @client, server_key: @server.public_key)
    sent = ask(secret)
    assert_equal "served", req(open).request("served", timeout: 5)
    assert_unserved(secret, sent)
  end

  test "after a time-out of request a client is still a client of CURVE" do
    server = open_socket(:ROUTER, curve: @server).bind(endpoint_for(:tcp))
    client = req(server, curve: @client, server_key: @server.public_key)
    assert_raises(Godwit::TimeoutError) { client.request("first", timeout: 0.2) }
    waiting = in_thread { client.request("second", timeout: 5) }
    request = eventually { (message = server.recv(timeout: 5)).last == "second" && message }
    server << request
    assert_equal "second", waiting.value
    assert_equal :curve, client.mechanism
  end

  test "curve: without server_key: makes a server; two servers do not meet" do
    assert_predicate open_socket(:REP, curve: @server), :curve_server?
    refute_predicate open_socket(:REP, curve: @server, server_key: @client.public_key),
      :curve_server?
    a, b = connected_pair(:DEALER, :DEALER, curve: @server)
    b.send_nonblock("x", exception: false)
    assert_nil a.recv(timeout: 0.2, exception: false)
  end

  test "curve: takes a keypair, server_key: a key" do
    [@server.public_key, true, {secret_key: @server.secret_key},
      [@server.public_key, @server.secret_key]].each do |keys|
      error = assert_named(Godwit::CurveKeyError, /Keypair/) { open_socket(:REQ, curve: keys) }
      refute_includes error.message, @server.secret_key
    end
    ["", "x" * 39, "x" * 41, "\"" * 40, "~" * 40, 5, :key, "#" * 40].each do |key|
      assert_named(Godwit::CurveKeyError, /40 characters of Z85 or of 32 bytes/) do
        open_socket(:REQ, curve: @client, server_key: key)
      end
    end
    assert_flows(*connected_pair(:PAIR, :PAIR).reverse)
  end
end

class PlainSecurityTest < Godwit::TestCase
  include Conformance::Assertions

  def rep(**options)
    open_socket(:REP, **options)
      .bind(endpoint_for(:tcp))
      .tap { |socket| in_thread { socket.serve(&:itself) } }
  end

  def req(rep, **options)
    open_socket(:REQ, reconnect_interval: 0.01, **options).connect(rep.last_endpoint)
  end

  # A feature that a later part of Godwit will offer: a REP that libzmq asks about each newcomer
  # (ZAP, RFC 27).
  def authenticator(passwords)
    zap = open_socket(:REP).bind("inproc://zeromq.zap.01")
    in_thread do
      zap.serve do |version, id, _domain, _address, _routing_id, mechanism, name, password|
        known = mechanism == "PLAIN" && passwords[name] == password
        [version, id, known ? "200" : "400", known ? "OK" : "no", known ? name : "", ""]
      end
    end
  end

  def assert_refused(server, **options)
    bad = req(server, **options)
    sent = ask(bad)
    assert_equal "served", req(server, plain: %w[user secret]).request("served", timeout: 5)
    assert_unserved(bad, sent)
  end

  test "a client with the right password is served" do
    authenticator("user" => "secret", "u" * 255 => "p" * 255)
    server = rep(plain_server: true)
    client = req(server, plain: %w[user secret])
    assert_equal "hello", client.request("hello", timeout: 5)
    assert_equal [:plain, :plain, true], [server.mechanism, client.mechanism, server.plain_server?]
    assert_equal "hello", req(server, plain: ["u" * 255, "p" * 255]).request("hello", timeout: 5)
  end

  test "the wrong password, an unknown user, and a client without PLAIN are refused" do
    authenticator("user" => "secret")
    server = rep(plain_server: true)
    assert_refused server, plain: %w[user guess]
    assert_refused server, plain: %w[nobody secret]
    assert_refused server
  end

  # libzmq then has no authenticator to ask, and refuses.
  test "without a ZAP handler no client is served" do
    server = rep(plain_server: true)
    client = req(server, plain: %w[user secret])
    assert_raises(Godwit::TimeoutError) { client.request("hello", timeout: 0.3) }
    authenticator("user" => "secret") # which shows that nothing else was missing
    assert_equal "hello", client.request("hello", timeout: 5)
  end

  test "a server without PLAIN does not serve a client that has it" do
    server = rep
    bad = req(server, plain: %w[user secret])
    sent = ask(bad)
    assert_equal "served", req(server).request("served", timeout: 5)
    assert_unserved(bad, sent)
  end
end
