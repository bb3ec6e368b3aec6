# frozen_string_literal: true

require_relative "case"

# Invalid arguments that no other file has: each error names the argument, the value and the
# allowed values.
class ArgumentsTest < Conformance::Case
  VALUE = Godwit::ArgumentValueError
  TYPE = Godwit::ArgumentTypeError

  test "serve, types, contexts, Z85" do
    rep = open_socket(:REP)
    assert_named(TYPE, /on_error: takes what can be called, or nil: got 5/, operation: :serve) do
      rep.serve(on_error: 5) { flunk }
    end
    assert_mistakes(
      -> { Godwit::Socket.class_of(5) } => [VALUE, /no socket type 5/],
      -> { Godwit::Context.new(socket_options: 5) } =>
        [TYPE, /socket_options: takes a Hash of options: got 5/],
      -> { Godwit::Context.new(socket_options: {recv_hwm: "many"}) } =>
        [Godwit::OptionError, /recv_hwm/],
      -> { Godwit::Context.new(linger: -1) } => [Godwit::OptionError, /linger/],
      -> { Godwit::Z85.encode(5) } => [TYPE, /a String: got 5/]
    )
    assert_equal [ArgumentError, TypeError], [VALUE.superclass, TYPE.superclass]
  end

  test "an option that only libzmq refuses raises with the option and the value" do
    says = /tcp_accept_filter.*an IP address or CIDR block.*libzmq refuses "x" \(String\)/
    assert_named(Godwit::OptionError, says) { open_socket(:PULL).tcp_accept_filter = "x" }
    assert_named(Godwit::OptionError, says) { open_socket(:PULL, tcp_accept_filter: "x") }
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

  test "an allocated object is closed, and its methods raise" do
    assert_equal "#<Godwit::Context closed>", Godwit::Context.allocate.inspect
    assert_equal "#<Godwit::PULL (closed)>", Godwit::PULL.allocate.inspect
    assert_equal [true, false], [Godwit::Context.allocate.closed?, Godwit::Context.allocate.usable?]
    assert_equal "#<Godwit::Tracker of no send>", Godwit::Tracker.allocate.inspect
    assert_named(Godwit::StateError, /track: true/) { Godwit::Tracker.allocate.wait(0) }
    assert_named(Godwit::GoneError, /gone/) { Godwit::Frame.allocate.size }
    assert_equal ["#<Godwit::Message>", ["x"]],
      [Godwit::Message.allocate.inspect, Godwit::Message.allocate.push("x").to_a]
    return if ENV["GODWIT_TEST_TYPES"] # its checks want what initialize sets
    socket = Godwit::PULL.allocate
    assert_equal [nil, nil, []], [socket.last_endpoint, socket.port, socket.endpoints]
    assert_raises(Godwit::ClosedError) { Godwit::Context.allocate.socket(:PULL) }
  end

  test "a frame's indexes and prefixes are checked before its bytes are read" do
    frame = Godwit::Frame.new("hello")
    [nil, "x", :y, 1.5, [], "a".."b", false].each do |index|
      assert_named(TYPE, /Integer/) { frame.byteslice(index) }
      assert_named(TYPE, /Integer/) { frame.getbyte(index) }
      assert_named(TYPE, /Integer/) { frame.byteslice(0, index) } unless index.nil?
    end
    [nil, :h, 1, /h/, ["h"]].each do |prefix|
      assert_named(TYPE, /String/) { frame.start_with?("x", prefix) }
    end
    assert_equal ["hello", nil, nil],
      [frame.byteslice(0, 1 << 80), frame.byteslice(1 << 80), frame.getbyte(-(1 << 80))]
  end
end
