# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqContextTest < Godwit::RbczmqCase
  test "a process has one context, and ZMQ.context returns it" do
    assert_nil ZMQ.context
    first = ZMQ::Context.new
    GC.start
    assert_same first, ZMQ.context
    error = assert_misuse(/single ZMQ context per process allowed/) { ZMQ::Context.new }
    assert_match(/#{Regexp.escape(__FILE__)}:#{__LINE__ - 4}/, error.message)
    assert_nil first.destroy
    assert_nil ZMQ.context
    second = ZMQ::Context.new
    assert_same second, ZMQ.context
    refute_same first, second
  end

  test "initialize of a subclass gets no argument" do
    klass = Class.new(ZMQ::Context) do
      attr_reader :seen

      def initialize(*arguments)
        @seen = arguments
        super()
      end
    end
    context = klass.new(2)
    assert_equal [], context.seen
    assert_same context, ZMQ.context
  end

  test "after a new that failed there is none" do
    assert_raise(TypeError) { ZMQ::Context.new("2") }
    assert_nil ZMQ.context
    assert_misuse(/negative/) { ZMQ::Context.new(-1) }
    assert_nil ZMQ.context
    assert_instance_of ZMQ::Context, ZMQ::Context.new(1)
  end

  test "after destroy no method works" do
    context = ZMQ::Context.new
    assert_nil context.destroy
    assert_misuse(/ZMQ::Context instance \w* has been destroyed by the ZMQ framework/,
      -> { context.destroy }, -> { context.iothreads = 2 }, -> { context.linger = 2 },
      -> { context.socket(:REP) }, -> { context.bind(:REP, spot) },
      -> { context.connect(:REQ, spot) })
    assert_match(/destroyed/, context.inspect)
  end

  test "destroy closes the sockets of every thread" do
    mine = ctx.bind(:PULL, spot)
    waiting = nil
    other = in_thread do
      waiting = ctx.bind(:PULL, spot)
      waiting.recv
    end
    eventually { waiting }
    until_waiting(waiting.godwit)
    assert_nil ctx.destroy
    assert_nil other.value
    assert_misuse(/ZMQ::Socket instance \w* has been destroyed by the ZMQ framework/,
      -> { mine.recv }, -> { elsewhere { waiting.recv } }, -> { mine.close })
  end

  test "iothreads and linger" do
    assert_raise TypeError, -> { ctx.iothreads = :invalid }, -> { ctx.iothreads = 1.5 },
      -> { ctx.linger = :invalid }
    assert_misuse(/negative/, -> { ctx.iothreads = -2 }, -> { ctx.linger = -1 })
    assert_equal [2, 10], [(ctx.iothreads = 2), (ctx.linger = 10)]
    assert_instance_of ZMQ::Socket::Rep, ctx.bind(:REP, "tcp://127.0.0.1:*")
  end

  test "without an I/O thread tcp is refused" do
    context = ZMQ::Context.new(0)
    assert_misuse(/I\/O thread/) { context.socket(:REP).bind("tcp://127.0.0.1:*") }
    assert_equal 0, context.socket(:REP).bind(spot)
  end

  test "sockets by symbol and by number" do
    [ZMQ::REP, :REP].each { |type| assert_instance_of ZMQ::Socket::Rep, ctx.socket(type) }
    assert_raise TypeError, -> { ctx.socket("REP") }, -> { ctx.socket(nil) }
    assert_raise(NameError) { ctx.socket(:NOPE) }
    assert_misuse(/not supported/, -> { ctx.socket(99) }, -> { ctx.socket(:Frame) })
  end

  test "the linger of the context overrides the socket's linger" do
    push = ctx.socket(:PUSH)
    push.linger = 2_000 * HANG
    push.connect("tcp://127.0.0.1:9") # nothing listens on port 9
    push.sndtimeo = 0
    push.send("never delivered")
    ctx.linger = 1
    assert_nil ended(in_thread { ctx.destroy })
  end
end
