# frozen_string_literal: true

require "test_helper"
require_relative "assertions"

# Invalid arguments: `rescue Godwit::Error` rescues all errors, and each names the argument, the
# value and the allowed values.
class ArgumentsTest < Godwit::TestCase
  include Conformance::Assertions

  VALUE = Godwit::ArgumentValueError
  TYPE = Godwit::ArgumentTypeError

  # The fault, the class, the needed text of the message, the call with a DEALER of the test's.
  WRONG = [
    ["timeout: below 0", VALUE, /timeout is at least 0 seconds.*-1/, ->(s) { s.recv(timeout: -1) }],
    [
      "timeout: of a String", TYPE, /timeout is a number of seconds.*"1" \(String\)/,
      ->(s) { s.send("x", timeout: "1") }
    ],
    ["timeout of wait_readable", VALUE, /at least 0 seconds/, ->(s) { s.wait_readable(-0.5) }],
    [
      "count: 0", VALUE, /wait_connected: count: takes a number of peers, 1 or more: got 0/,
      ->(s) { s.wait_connected(count: 0) }
    ],
    [
      "recv_many(0)", VALUE, /recv_many: max takes 1 message or more: got 0/,
      ->(s) { s.recv_many(0) }
    ],
    [
      "recv_into of no String", TYPE,
      /recv_into: the buffer takes a String: got :buffer \(Symbol\)/, ->(s) { s.recv_into(:buffer) }
    ],
    [
      "encoding= unknown", VALUE, /encoding: takes an Encoding.*"klingon"/,
      ->(s) { s.encoding = "klingon" }
    ],
    [
      "encoding= of a number", TYPE, /encoding: takes an Encoding or its name: got 5/,
      ->(s) { s.encoding = 5 }
    ],
    ["bind without an endpoint", VALUE, /bind needs an endpoint, such as/, ->(s) { s.bind }],
    [
      "connect without an endpoint", VALUE, /connect needs an endpoint, such as/,
      ->(s) { s.connect }
    ],
    [
      "ports: that is empty", VALUE,
      /ports: takes a Range of numbers that is not empty.*10\.\.\.10/,
      ->(s) { s.bind("tcp://127.0.0.1:*", ports: 10...10) }
    ],
    [
      "a second initialize", Godwit::StateError, /open already.*DEALER\.new makes another/,
      ->(s) { s.__send__(:initialize) }
    ]
  ].freeze

  WRONG.each do |what, klass, says, call|
    test "#{what}, and the socket stays usable" do
      a, b = connected_pair(:DEALER, :DEALER, transport: :inproc)
      assert_named(klass, says) { call.call(a) }
      assert_equal 1, a.endpoints.size
      assert_flows(a, b)
      assert_flows(b, a)
    end
  end

  WRONG_NEW = [
    [
      "context: of another class", TYPE, /context: takes a Godwit::Context.*got 5 \(Integer\)/,
      {context: 5}
    ],
    ["encoding: unknown", VALUE, /encoding:.*"klingon"/, {encoding: "klingon"}],
    ["encoding: of a number", TYPE, /encoding:.*5 \(Integer\)/, {encoding: 5}],
    [
      "plain: of three", VALUE, /plain: takes \[user name, password\], two Strings: got Array\z/,
      {plain: %w[user secret more]}
    ],
    [
      "server_key: without curve:", VALUE, /server_key: goes with curve:.*Curve\.keypair/,
      {server_key: "k" * 40}
    ],
    [
      "curve: of no keypair", Godwit::CurveKeyError,
      /curve: takes a Godwit::Curve::Keypair or a Godwit::Cert: got Symbol/, {curve: :keys}
    ]
  ].freeze

  WRONG_NEW.each do |what, klass, says, options|
    test "#{what}: no socket is made" do
      %i[DEALER REQ].each { |type| assert_named(klass, says) { open_socket(type, **options) } }
    end
  end

  test "request and serve" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    assert_named(
      VALUE, /request: retries: takes a number, 0 or more: got -1/, operation: :request
    ) { req.request("x", retries: -1) }
    assert_named(VALUE, /serve needs a block/, operation: :serve) { rep.serve }
    assert_named(TYPE, /on_error: takes what can be called, or nil: got 5/, operation: :serve) do
      rep.serve(on_error: 5) { flunk }
    end
  end

  test "types, contexts, Z85" do
    assert_named(VALUE, /no socket type :REQUEST: there are PAIR/) { context.socket(:REQUEST) }
    assert_named(VALUE, /no socket type 5/) { Godwit::Socket.class_of(5) }
    assert_named(TYPE, /socket_options: takes a Hash of options: got 5/) do
      Godwit::Context.new(socket_options: 5)
    end
    assert_named(Godwit::StateError, /open already.*Context\.new makes another/) do
      context.__send__(:initialize)
    end
    assert_named(VALUE, /multiples of 4 bytes: got 3/) { Godwit::Z85.encode("abc") }
    assert_named(VALUE, /multiple of 5 characters: got 3/) { Godwit::Z85.decode("abc") }
    assert_named(TYPE, /a String: got 5/) { Godwit::Z85.encode(5) }
    assert_named(TYPE, /a String: got nil/) { Godwit::Z85.decode(nil) }
    assert_equal false, Godwit.has?("cur\0ve")
  end

  test "they are Ruby's ArgumentError and TypeError too" do
    assert_equal [ArgumentError, TypeError], [VALUE.superclass, TYPE.superclass]
  end

  test "an option that only libzmq refuses raises with the option and the value" do
    assert_named(
      Godwit::OptionError,
      /tcp_accept_filter.*an IP address or CIDR block.*libzmq refuses "x" \(String\)/
    ) { open_socket(:PULL).tcp_accept_filter = "x" }
    assert_named(Godwit::OptionError, /tcp_accept_filter.*"x"/) do
      open_socket(:PULL, tcp_accept_filter: "x")
    end
  end

  test "more sockets than libzmq has places for" do
    assert_named(Godwit::OptionError, /max_sockets.*from 1 to 21845.*21846/) do
      Godwit::Context.new(max_sockets: 21_846)
    end
    assert_named(Godwit::OptionError, /max_sockets.*21845/) { context.max_sockets = 65_535 }
    assert_equal 21_845, Godwit::Context.new(max_sockets: 21_845, &:max_sockets)
  end

  test "a device that is not there" do
    pull = open_socket(:PULL, bind_to_device: "godwit-none")
    error = assert_raises(SystemCallError) { pull.bind("tcp://127.0.0.1:*") }
    assert_kind_of Godwit::Error, error
    # Users who may not choose a device at all.
    return assert_kind_of(Errno::EPERM, error) unless error.is_a?(Errno::ENODEV)
    assert_instance_of Godwit::InterfaceError, error
    assert_match(/bind_to_device: "godwit-none"/, error.message)
    refute_match(/host name/, error.message)
  end

  {PUB: :wait_readable, PUSH: :wait_readable, SUB: :wait_writable,
   PULL: :wait_writable}.each do |type, wait|
    test "#{wait} on a #{type} does not wait for an event that never happens" do
      socket = open_socket(type).bind(endpoint_for(:inproc))
      says = (wait == :wait_readable) ? /a #{type} only sends/ : /a #{type} only receives/
      [[], [5]].each do |arguments|
        assert_named(Godwit::UnsupportedError, says, operation: wait) do
          socket.public_send(wait, *arguments)
        end
      end
      assert_equal false, socket.public_send((wait == :wait_readable) ? :readable? : :writable?)
      socket.close
      assert_named(Godwit::ClosedError, /Closed/) { socket.public_send(wait) }
    end
  end

  test "an allocated object is closed, and its methods raise" do
    assert_equal "#<Godwit::Context closed>", Godwit::Context.allocate.inspect
    assert_equal "#<Godwit::PULL (closed)>", Godwit::PULL.allocate.inspect
    assert_named(Godwit::ClosedError, /Closed/) { Godwit::PULL.allocate.bind("inproc://x") }
    assert_equal [true, false], [Godwit::Context.allocate.closed?, Godwit::Context.allocate.usable?]
    assert_equal "#<Godwit::Tracker of no send>", Godwit::Tracker.allocate.inspect
    assert_named(Godwit::StateError, /track: true/) { Godwit::Tracker.allocate.wait(0) }
    assert_named(Godwit::GoneError, /gone/) { Godwit::Frame.allocate.size }
    assert_equal ["#<Godwit::Message>", ["x"]],
      [Godwit::Message.allocate.inspect, Godwit::Message.allocate.push("x").to_a]
  end

  test "a frame's places and prefixes are checked before its bytes are read" do
    frame = Godwit::Frame.new("hello")
    [nil, "x", :y, 1.5, [], "a".."b", false].each do |place|
      assert_named(Godwit::ArgumentTypeError, /Integer/) { frame.byteslice(place) }
      assert_named(Godwit::ArgumentTypeError, /Integer/) { frame.getbyte(place) }
      unless place.nil?
        assert_named(Godwit::ArgumentTypeError, /Integer/) { frame.byteslice(0, place) }
      end
    end
    [nil, :h, 1, /h/, ["h"]].each do |prefix|
      assert_named(Godwit::ArgumentTypeError, /String/) { frame.start_with?("x", prefix) }
    end
    assert_equal ["hello", nil, nil],
      [frame.byteslice(0, 1 << 80), frame.byteslice(1 << 80), frame.getbyte(-(1 << 80))]
    assert_named(Godwit::ArgumentValueError, /nil to copy always/) do
      Godwit::Frame.new("x", copy_threshold: 1 << 70)
    end
    assert_named(Godwit::ArgumentValueError, /nil to copy always/) do
      open_socket(:PUSH).copy_threshold = 1 << 70
    end
  end
end
