# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqOptionsTest < Godwit::RbczmqCase
  # Option => its default, and another value that it accepts.
  NUMBERS = {
    sndhwm: [1000, 7], rcvhwm: [1000, 7], affinity: [0, 1], rate: [100, 50_000],
    recovery_ivl: [10_000, 20], maxmsgsize: [-1, 1 << 33], multicast_hops: [1, 2],
    sndbuf: [0, 1000], rcvbuf: [0, 1000], backlog: [100, 200], reconnect_ivl: [100, 200],
    reconnect_ivl_max: [0, 500], rcvtimeo: [-1, 200], sndtimeo: [-1, 200]
  }.freeze
  # Options that have no reader => values that the socket accepts, and values that it refuses.
  SET_ONLY = {
    delay_attach_on_connect: [:DEALER, [true, false], [nil, 1, "true"]],
    router_mandatory: [:ROUTER, [true, false], [nil, 1, "true"]],
    router_raw: [:ROUTER, [true, false], [nil, 1, "true"]],
    xpub_verbose: [:XPUB, [true, false], [nil, 1, "true"]],
    identity: [:DEALER, ["anonymous", "*" * 255], [:me, nil]]
  }.freeze

  test "numbers: default, set, get, wrong types" do
    NUMBERS.each do |option, (default, other)|
      socket = ctx.socket(:DEALER)
      set = ->(value) { socket.__send__(:"#{option}=", value) }
      assert_equal [default, nil, other],
        [socket.__send__(option), set.call(other), socket.__send__(option)], option
      [nil, "1", 1.5, :x, true].each do |wrong|
        assert_raises(TypeError, "#{option} = #{wrong.inspect}") { set.call(wrong) }
      end
      assert_equal other, socket.__send__(option), option
    end
  end

  test "options that are only set" do
    SET_ONLY.each do |option, (type, right, wrong)|
      socket = ctx.socket(type)
      set = ->(value) { socket.__send__(:"#{option}=", value) }
      right.each { |value| assert_nil set.call(value), option }
      wrong.each do |value|
        assert_raises(TypeError, "#{option} = #{value.inspect}") { set.call(value) }
      end
      refute_respond_to socket, option
    end
    socket = ctx.socket(:DEALER)
    assert_misuse(/empty/) { socket.identity = "" }
    assert_misuse(/255/) { socket.identity = "*" * 256 }
  end

  test "linger is always reported as -1, and is Godwit's unless it is set" do
    socket = ctx.socket(:DEALER)
    assert_equal [-1, Godwit::Context::DEFAULT_LINGER], [socket.linger, socket.godwit.linger]
    assert_nil socket.__send__(:linger=, 10)
    assert_equal [-1, 0.01], [socket.linger, socket.godwit.linger]
    assert_raise(TypeError) { socket.linger = nil }
  end

  test "ipv4only" do
    socket = ctx.socket(:DEALER)
    assert_equal true, socket.ipv4only?
    [false, true].each do |flag|
      assert_nil socket.__send__(:ipv4only=, flag)
      assert_equal flag, socket.ipv4only?
    end
    assert_raise(TypeError) { socket.ipv4only = 1 }
  end

  test "delay_attach_on_connect has its effect" do
    push = ctx.socket(:PUSH)
    push.delay_attach_on_connect = true
    push.connect("tcp://127.0.0.1:9")
    refute push.writable?
  end

  test "subscribe and unsubscribe" do
    sub = ctx.socket(:SUB)
    assert_equal [nil] * 3, [sub.subscribe("ruby"), sub.unsubscribe("ruby"), sub.subscribe("")]
    assert_raise TypeError, -> { sub.subscribe(:ruby) }, -> { sub.unsubscribe(nil) }
    pull = ctx.socket(:PULL)
    assert_misuse(/not supported on a PULL socket/, -> { pull.subscribe("") },
      -> { pull.unsubscribe("") })
  end

  test "a bad value is reported, and ends nothing" do
    socket = ctx.socket(:DEALER)
    assert_refused Errno::EINVAL, -> { socket.sndhwm = -5 }, -> { socket.rcvtimeo = -7 },
      -> { socket.multicast_hops = 0 }, -> { socket.router_mandatory = true },
      -> { socket.rate = 1 << 40 }, -> { socket.affinity = 1 << 70 }
    assert_equal [1000, -1], [socket.sndhwm, socket.rcvtimeo]
  end

  test "a high-water mark that is set after the first bind or connect has no effect" do
    push = ctx.bind(:PUSH, spot)
    push.sndhwm = 8
    assert_equal 1000, push.sndhwm
  end
end
