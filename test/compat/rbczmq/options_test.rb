# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqOptionsTest < Godwit::RbczmqCase
  under_gc_stress

  # Name => default, another value.
  NUMBERS = {
    sndhwm: [1000, 7], rcvhwm: [1000, 7], affinity: [0, 1], rate: [100, 50_000],
    recovery_ivl: [10_000, 20], maxmsgsize: [-1, 1 << 33], multicast_hops: [1, 2],
    sndbuf: [0, 1000], rcvbuf: [0, 1000], backlog: [100, 200], reconnect_ivl: [100, 200],
    reconnect_ivl_max: [0, 500], rcvtimeo: [-1, 200], sndtimeo: [-1, 200]
  }.freeze

  NUMBERS.each do |option, (default, other)|
    test "#{option}: default, set, get, wrong types" do
      socket = ctx.socket(:DEALER)
      assert_equal default, socket.__send__(option)
      assert_nil socket.__send__(:"#{option}=", other)
      assert_equal other, socket.__send__(option)
      [nil, "1", 1.5, :x, true].each do |wrong|
        assert_raises(TypeError) { socket.__send__(:"#{option}=", wrong) }
      end
      assert_equal other, socket.__send__(option)
    end
  end

  test "linger is always reported as -1" do
    socket = ctx.socket(:DEALER)
    assert_equal(-1, socket.linger)
    assert_nil socket.__send__(:linger=, 10)
    assert_equal(-1, socket.linger)
    assert_raises(TypeError) { socket.linger = nil }
    assert_equal 0.01, socket.godwit.linger
  end

  test "the linger of a socket is Godwit's unless it is set" do
    assert_equal Godwit::Context::DEFAULT_LINGER, ctx.socket(:PUSH).godwit.linger
  end

  test "ipv4only" do
    socket = ctx.socket(:DEALER)
    assert_equal true, socket.ipv4only?
    assert_nil socket.__send__(:ipv4only=, false)
    assert_equal false, socket.ipv4only?
    socket.ipv4only = true
    assert_equal true, socket.ipv4only?
    assert_raises(TypeError) { socket.ipv4only = 1 }
  end

  test "flags that can only be set" do
    {delay_attach_on_connect: :DEALER, router_mandatory: :ROUTER, router_raw: :ROUTER,
     xpub_verbose: :XPUB}.each do |option, type|
      socket = ctx.socket(type)
      assert_nil socket.__send__(:"#{option}=", true)
      assert_nil socket.__send__(:"#{option}=", false)
      [nil, 1, "true"].each do |wrong|
        assert_raises(TypeError) { socket.__send__(:"#{option}=", wrong) }
      end
      refute_respond_to socket, option
    end
  end

  test "delay_attach_on_connect has its effect" do
    push = ctx.socket(:PUSH)
    push.delay_attach_on_connect = true
    push.connect("tcp://127.0.0.1:9")
    refute push.writable?
  end

  test "identity" do
    socket = ctx.socket(:DEALER)
    assert_nil socket.__send__(:identity=, "anonymous")
    socket.identity = "*" * 255
    assert_misuse(/empty/) { socket.identity = "" }
    assert_misuse(/255/) { socket.identity = "*" * 256 }
    assert_raises(TypeError) { socket.identity = :me }
    assert_raises(TypeError) { socket.identity = nil }
    refute_respond_to socket, :identity
  end

  test "subscribe and unsubscribe" do
    sub = ctx.socket(:SUB)
    assert_nil sub.subscribe("ruby")
    assert_nil sub.unsubscribe("ruby")
    assert_nil sub.subscribe("")
    assert_raises(TypeError) { sub.subscribe(:ruby) }
    assert_raises(TypeError) { sub.unsubscribe(nil) }
    pull = ctx.socket(:PULL)
    assert_misuse(/not supported on a PULL socket/) { pull.subscribe("") }
    assert_misuse(/not supported on a PULL socket/) { pull.unsubscribe("") }
  end

  test "a bad value is reported, and ends nothing" do
    socket = ctx.socket(:DEALER)
    assert_refused(Errno::EINVAL) { socket.sndhwm = -5 }
    assert_refused(Errno::EINVAL) { socket.rcvtimeo = -7 }
    assert_refused(Errno::EINVAL) { socket.multicast_hops = 0 }
    assert_refused(Errno::EINVAL) { socket.router_mandatory = true }
    assert_refused(Errno::EINVAL) { socket.rate = 1 << 40 }
    assert_refused(Errno::EINVAL) { socket.affinity = 1 << 70 }
    assert_equal [1000, -1], [socket.sndhwm, socket.rcvtimeo]
  end

  test "a high-water mark that is set after the first bind or connect has no effect" do
    push = ctx.bind(:PUSH, spot)
    push.sndhwm = 8
    assert_equal 1000, push.sndhwm
  end
end
