# frozen_string_literal: true

require "socket"
require_relative "case"

# Reasons in the message of a TimeoutError. All situations of CASES run at the same time.
class TimeOutReasonsTest < Conformance::Case
  # Seconds of each wait. A wait is repeated until its error has the expected reason.
  WAIT = 0.6
  private_constant :WAIT

  PRELUDE = 'require "godwit"'

  TCP = "tcp://127.0.0.1:"
  HANDSHAKE = "the handshake at #{TCP}"
  SAME = "give both sides the same security: curve: and server_key:, or plain:, or none"
  NO_ANSWER = "since the peer accepts the connection and does not answer: maybe no ZeroMQ socket " \
    "is bound there, or the server has auth: without a Godwit::Auth"
  NO_PEER = "the socket has no peer; one side must bind, the other must connect"
  FOR = /for (more than )?\d+\.\d s/

  # Situation => reason, texts of the message, and a block that returns the waiting socket, or an
  # Array of the socket, a method instead of `recv`, and its arguments.
  CASES = {
    "nobody listens" => [:refused, "connection refused at #{TCP}", "nobody listens there; is the " \
      "server started? If both sides connect, one side must bind", lambda { |t|
        t.client(:REQ, t.unused).send("x")
      }],
    "nobody listens at a path" => [:refused, "connection refused at ipc://", "is the server " \
      "started?", ->(t) { t.client(:SUB, t.endpoint_for(:ipc), subscribe: "") }],
    "no such host" => [:no_address, "no address for no.such.host.invalid: check the name",
      ->(t) { t.client(:PULL, "tcp://no.such.host.invalid:5555") }],
    "both bind" => [:no_peer, NO_PEER, ->(t) { t.bound(:PULL) }],
    "both bind, to send" => [:no_peer, NO_PEER, ->(t) { [t.bound(:PUSH), :send, "x"] }],
    "wait_connected, nobody listens" => [:refused, "0 of 1 peers are connected; connection " \
      "refused at #{TCP}", ->(t) { [t.client(:PUSH, t.unused), :wait_connected] }],
    "a PUB without subscribers" => [:no_peer, "a PUB waits for subscriptions, and 0 of 1 have " \
      "come", NO_PEER, ->(t) { [t.bound(:PUB), :wait_connected] }],
    "wrong key" => [:handshake, HANDSHAKE, "failed, since the peer closed the connection without " \
      "a reason: maybe server_key: is not the server's public key",
      ->(t) { t.client(:DEALER, t.curve_server, curve: t.keys, server_key: t.keys.public_key) }],
    "wrong key, at the server" => [:wrong_key, "since the keys do not match: the client's " \
      "server_key: has to be the server's public key", lambda { |t|
        server = t.bound(:PULL, curve: t.keys)
        t.client(:PUSH, server.last_endpoint, curve: t.keys, server_key: t.other.public_key)
        server
      }],
    "NULL against CURVE" => [:security, "since this side uses NULL, and the server uses CURVE: " +
      SAME, ->(t) { t.client(:DEALER, t.curve_server) }],
    "CURVE against NULL" => [:security, "since this side uses CURVE, and the server uses NULL",
      lambda { |t|
        t.client(:DEALER, t.bound(:ROUTER).last_endpoint, curve: t.keys,
          server_key: t.keys.public_key)
      }],
    "PLAIN refused" => [:denied, "since the authenticator refused the peer's name, password, key " \
      "or address (status 400): correct it, and connect a new socket", lambda { |t|
        t.client(:DEALER, t.plain_server, plain: %w[user wrong])
      }],
    "auth: without an Auth" => [:handshake, NO_ANSWER,
      ->(t) { t.client(:DEALER, t.bound(:ROUTER, context: t.alone, auth: "x").last_endpoint) }],
    "auth: without an Auth, at the server" => [%i[handshake no_auth], "a Godwit::Auth must run " \
      "in this context", lambda { |t|
        server = t.bound(:PULL, context: t.alone, auth: "x")
        t.client(:PUSH, server.last_endpoint)
        server
      }],
    "types do not fit" => [:types, "the peer at #{TCP}", "is a SUB: a PUSH talks to PULL",
      lambda { |t|
        [t.client(:PUSH, t.bound(:SUB, subscribe: "").last_endpoint, immediate: true), :send, "x"]
      }],
    "types do not fit, wait_connected" => [:types, /is a (ROUTER, or a )?REP\b/,
      "a SUB talks to PUB or XPUB",
      ->(t) { [t.client(:SUB, t.bound(:REP).last_endpoint), :wait_connected] }],
    "subscribed too late" => [:silent, "connected to 1 peer", FOR, "and nothing came; messages " \
      "that were published before the subscription are lost: use wait_connected at the publisher",
      lambda { |t|
        publisher = t.bound(:PUB) << "lost"
        t.client(:SUB, publisher.last_endpoint, subscribe: "")
      }],
    "a silent peer" => [:silent, "connected to 1 peer", FOR, "it has sent nothing",
      ->(t) { t.client(:REQ, t.bound(:REP).last_endpoint).send("x") }],
    "two silent peers" => [:silent, "connected to 2 peers", FOR, "they have sent nothing",
      lambda { |t|
        server = t.bound(:PULL)
        2.times { t.client(:PUSH, server.last_endpoint) }
        server
      }],
    "a peer that does not read" => [:full, "connected to 1 peer", FOR, "but its queue is full " \
      "(send_hwm: 1): the peer has to read faster", lambda { |t|
        push = t.client(:PUSH, t.bound(:PULL, recv_hwm: 1).last_endpoint, send_hwm: 1)
        push.wait_connected(timeout: 20)
        nil while push.send("x" * 100_000, timeout: 0.3, exception: false)
        [push, :send, "x" * 100_000]
      }],
    "no ZeroMQ" => [:handshake, NO_ANSWER, lambda { |t|
      t.client(:DEALER, "#{TCP}#{t.own(TCPServer.new("127.0.0.1", 0)).addr[1]}")
    }]
  }.freeze

  attr_reader :keys, :other, :alone, :curve_server, :plain_server

  def client(type, endpoint, **options)
    open_socket(type, linger: 0, reconnect_interval: 0.05, **options).connect(endpoint)
  end

  def bound(type, **options) = open_socket(type, **options).bind("tcp://127.0.0.1:*")

  def unused = "#{TCP}#{free_port}"

  def before_setup
    super
    Godwit.warn_refused = false
  end

  def after_teardown
    super
    Godwit.warn_refused = true
  end

  def prepare
    @keys, @other = Array.new(2) { Godwit::Curve.keypair }
    @alone = own(Godwit::Context.new)
    own(Godwit::Auth.new(context: context)).plain(users: {"user" => "right"})
    @curve_server = bound(:ROUTER, curve: @other).last_endpoint
    @plain_server = bound(:ROUTER, plain_server: true, auth: "x").last_endpoint
  end

  # @param reason [Symbol, Array<Symbol>] one or more accepted reasons
  # @return [Godwit::TimeoutError] the first error with such a reason, after repeated calls
  def reason_of(reason, socket, call = :recv, *arguments)
    eventually("it has no reason #{reason}", deadline: 60) do
      socket.public_send(call, *arguments, timeout: WAIT)
      nil
    rescue Godwit::TimeoutError => error
      error if Array(reason).include?(error.reason)
    end
  end

  test "a time-out says why" do
    not_on :jruby, "the kernel's connections are not asked there"
    prepare
    errors = CASES.to_h do |name, (reason, *, setting)|
      socket = setting.call(self)
      [name, Thread.new { reason_of(reason, *socket) }]
    end
    CASES.each do |name, (_, *words, _setting)|
      error = errors.fetch(name).value
      words.each { |text| assert_match text, error.message, name }
      assert_includes error.message, error.why, name
      one = error.endpoint
      assert(one.nil? || error.message.include?(one), name)
    end
  end

  test "peers of before the slow wait count beside one that comes and leaves" do
    not_on :jruby, "the kernel's connections are not asked there"
    pull = bound(:PULL)
    2.times { client(:PUSH, pull.last_endpoint).wait_connected(timeout: 20) }
    assert_match(/connected to 2 peers/, reason_of(:silent, pull).why)
    third = client(:PUSH, pull.last_endpoint).wait_connected(timeout: 20)
    eventually { reason_of(:silent, pull).why.include?("connected to 3 peers") }
    third.close
    eventually { reason_of(:silent, pull).why.include?("connected to 2 peers") }
  end

  test "a request says why, and its retries" do
    req = client(:REQ, unused)
    error = assert_raises(Godwit::TimeoutError) { req.request("x", timeout: 1, retries: 1) }
    assert_equal :refused, error.reason
    assert_equal req.last_endpoint, error.endpoint
  end

  # The test runs in a child process, where no other thread opens or closes descriptors.
  test "a short wait opens nothing; polls, or the first call after a message, close the rest" do
    assert_done <<~RUBY
      context = Godwit::Context.new
      pull = context.socket(:PULL)
      pull.bind("tcp://127.0.0.1:*")
      push = context.socket(:PUSH)
      push.connect(pull.last_endpoint)
      push << "a" << "b" << "c"
      3.times { pull.recv }
      time_out = lambda do |seconds|
        pull.recv(timeout: seconds)
      rescue Godwit::TimeoutError => e
        e
      end
      time_out.(0.01) # the socket retains the descriptors of its first wait
      before = descriptors
      error = time_out.(0.15)
      abort "a reason: \#{error.why}" if error.reason || error.why
      abort "\#{descriptors} descriptors, \#{before} before" unless descriptors == before
      time_out.(0.25)
      abort "no monitor is open" unless descriptors > before
      push << "a" << "b" << "c"
      3.times { pull.recv(timeout: 20) }
      Thread.pass until descriptors <= before
      time_out.(0.25)
      2.times { time_out.(0) } # the second call follows a call that did not wait
      Thread.pass until descriptors <= before
    RUBY
  end
end
