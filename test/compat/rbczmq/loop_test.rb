# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqLoopTest < Godwit::RbczmqCase
  # Collects the messages that it reads, and calls a block for each.
  class Reader < ZMQ::Handler
    attr_reader :seen, :args

    def initialize(item, *args)
      super
      @args = args
      @seen = []
    end

    def on_readable
      @seen << recv
      @args.flatten.first&.call(self)
    end

    def on_writable
      send("written")
      false # ends the loop
    end
  end

  # A Reader that raises for each message. Its on_error stores the error; two errors end the loop.
  class Forgiving < Reader
    def on_readable
      recv
      raise "fail"
    end

    def on_error(error)
      (@args.first << error.message).size < 2
    end
  end

  def item(pollable, handler, *args)
    ZMQ::Pollitem.new(pollable, ZMQ::POLLIN).tap { |one| one.handler = handler.new(one, *args) }
  end

  # @yield [Reader] each message; false ends the loop
  # @return [Array(ZMQ::Loop, ZMQ::Pollitem)] a loop, and the item by which it reads from the socket
  def reading(pull, &block)
    one = item(pull, Reader, block)
    [ZMQ::Loop.new.tap { |lp| lp.register(one) }, one]
  end

  test "ZL is ZMQ::Loop" do
    assert_same ZMQ::Loop, ZL
    assert_instance_of ZMQ::Loop, ZMQ.loop
    assert_same ZMQ.loop, ZMQ.loop
    assert_same ctx, ZL.context
  end

  test "run and stop" do
    seen = []
    result = ZMQ::Loop.run do
      seen << ZL.running?
      ZL.add_oneshot_timer(0.01) { seen << ZL.running? }
      ZL.add_oneshot_timer(0.02) { seen << ZL.stop }
    end
    assert_equal [-1, [false, true, nil], false], [result, seen, ZL.running?]
    assert_equal(-1, elsewhere { ZMQ::Loop.run(-> { ZL.add_oneshot_timer(-1) { false } }) })
  end

  test "a callback that gives false ends it, nil does not; an interval is as long as it says" do
    fired = 0
    started = monotonic
    assert_equal(-1, ZMQ::Loop.run do
      ZL.add_oneshot_timer(0) { nil }
      ZL.add_periodic_timer(0.02) { (fired += 1) < 3 }
    end)
    assert_equal 3, fired
    assert_operator monotonic - started, :>=, 0.06
  end

  test "run raises a callback's error, and the loop can run again" do
    lp = ZMQ::Loop.new
    lp.register_timer(ZMQ::Timer.new(0, 1) { raise "stop!" })
    assert_equal "stop!", assert_raise(RuntimeError) { lp.start }.message
    refute lp.running?
    lp.register_timer(ZMQ::Timer.new(0.001, 1) { lp.interrupt })
    assert_equal 0, lp.start
    lp.register_timer(ZMQ::Timer.new(0, 1) { false })
    assert_equal(-1, lp.start)
  end

  test "timers" do
    fired = Hash.new(0)
    ZMQ::Loop.run do
      [
        ZL.add_oneshot_timer(0.001) { fired[:once] += 1 },
        ZL.add_timer(0.001, 3) { fired[:thrice] += 1 },
        ZL.add_periodic_timer(0.001, -> { fired[:often] += 1 })
      ].each { |timer| assert_instance_of ZMQ::Timer, timer }
      cancelled = ZL.add_timer(0.001, 5) { fired[:never] += 1 }
      assert_equal [true, true], Array.new(2) { ZL.cancel_timer(cancelled) }
      ZL.add_timer(0.001, 5) { fired[:neither] += 1 }.cancel
      ZL.add_periodic_timer(0.002) { fired[:often] < 8 || fired[:thrice] < 3 }
    end
    assert_equal [1, 3, 0, 0], fired.values_at(:once, :thrice, :never, :neither)
    assert_raise TypeError, -> { ZMQ.loop.register_timer(:x) }, -> { ZMQ.loop.cancel_timer(nil) }
    timer = ZMQ::Timer.new(9, 1) {}
    assert_equal [true, true], [ZMQ.loop.register_timer(timer), ZMQ.loop.cancel_timer(timer)]
  end

  test "bind and connect make a handler for each direction" do
    a = ctx.socket(:PAIR)
    b = ctx.socket(:PAIR)
    made = []
    handler = Class.new(Reader) do
      define_method(:initialize) { |*args| super(*args).tap { made << self } }
      def on_writable = nil
    end
    result = ZMQ::Loop.run do
      assert_equal 0, ZL.bind(a, endpoint = spot, handler, ->(_) { false }, :two)
      assert_equal true, ZL.connect(b, endpoint, nil)
      ZL.remove(b)
      b.send("message")
    end
    assert_equal [-1, [ZMQ::POLLIN, ZMQ::POLLOUT]], [result, made.map { |one| one.pollitem.events }]
    assert_equal [["message"], []], made.map(&:seen)
    made.each { |one| assert_equal [1, :two], [one.args.size, one.args.first.last] }
  end

  test "the default handler, and verbose" do
    rep = ctx.socket(:REP)
    req = ctx.socket(:REQ)
    out = printed do
      ZMQ::Loop.run do
        ZL.verbose = true
        ZL.bind(rep, endpoint = spot)
        req.connect(endpoint)
        req.send("shown")
        ZL.register_readable(req, Reader, ->(_) { false })
      end
    end
    assert_match(/^"shown"$/, out)
    assert_match(/REP socket/, out)
  end

  test "register_readable and register_writable splat their arguments" do
    push, pull = pair(:PUSH, :PULL)
    items = []
    ZMQ::Loop.run do
      items << ZL.register_readable(pull, Reader, ->(_) { false }, :two)
      items << ZL.register_writable(push, Reader, 3, 4)
    end
    assert_instance_of ZMQ::Pollitem, items.first
    assert_equal [[:two], [3, 4]], [items.first.handler.args.drop(1), items.last.handler.args]
    pull.rcvtimeo = 1000
    assert_equal "written", items.first.handler.seen.first || pull.recv
  end

  test "register and remove" do
    push, pull = pair(:PUSH, :PULL)
    lp, one = reading(pull) { false }
    assert_equal [nil] * 3, [one, one, pull].map { |thing| lp.remove(thing) }
    push.send("x")
    lp.register_timer(ZMQ::Timer.new(0.02, 1) { false })
    assert_equal [-1, []], [lp.start, one.handler.seen]
    assert_same one, lp.register(one)
    assert_equal [-1, ["x"]], [lp.start, one.handler.seen]
    assert_nil lp.remove(pull)
    assert_misuse(/pending/) { lp.register(ctx.socket(:PULL)) }
    assert_raise(TypeError) { lp.register("x") }
    assert_instance_of ZMQ::Pollitem, lp.register(pull)
    push.send("x")
    assert_misuse(/no handler/) { lp.start }
  end

  test "a message that was begun before, or by a timer, is read on" do
    push, pull = pair(:PUSH, :PULL)
    2.times { push.send_message(ZMQ::Message("a", "b")) }
    pull.recv
    lp, one = reading(pull) { |handler| handler.seen.size < 3 }
    assert_equal [-1, %w[b a b]], [lp.start, one.handler.seen]
    lp.remove(one)
    push.send_message(ZMQ::Message("c", "d"))
    two = item(pull, Reader, ->(_) { false })
    lp.register_timer(ZMQ::Timer.new(0, 1) do
      pull.recv
      lp.register(two)
      nil
    end)
    assert_equal [-1, ["d"]], [lp.start, two.handler.seen]
  end

  test "the same socket, two readers" do
    push, pull = pair(:PUSH, :PULL)
    lp, first = reading(pull) {}
    lp.register(second = item(pull, Reader, ->(_) { false }))
    %w[x y].each { |text| push.send(text) }
    assert_equal [-1, ["x"], ["y"]], [lp.start, first.handler.seen, second.handler.seen]
    lp.remove(first)
    push.send("z")
    assert_equal [-1, ["x"], %w[y z]], [lp.start, first.handler.seen, second.handler.seen]
  end

  test "on_error is called; its result decides" do
    push, pull = pair(:PUSH, :PULL)
    errors = []
    lp = ZMQ::Loop.new
    lp.register(item(pull, Forgiving, errors))
    3.times { push.send("x") }
    assert_equal [-1, %w[fail fail]], [lp.start, errors]
    timer = ZMQ::Timer.new(0, 2) { raise "again" }
    timer.define_singleton_method(:on_error) { |error| errors << error.message }
    lp.register_timer(timer)
    # This timer ends the loop only after the fourth error: a slow machine gives the same result.
    lp.register_timer(ZMQ::Timer.new(0.02, 0) { errors.size < 4 })
    lp.remove(pull)
    assert_equal [-1, %w[fail fail again again]], [lp.start, errors]
  end

  test "a callback may close its socket" do
    push, pull = pair(:PUSH, :PULL)
    lp, one = reading(pull) { pull.close }
    push.send("x")
    lp.register_timer(ZMQ::Timer.new(0.02, 1) { false })
    assert_equal [-1, ["x"]], [lp.start, one.handler.seen]
  end

  test "the context's end ends it" do
    lp, = reading(ctx.bind(:PULL, spot))
    lp.register_timer(ZMQ::Timer.new(0.01, 1) { ctx.destroy })
    assert_equal [0, false], [lp.start, lp.running?]
  end

  test "stop without a run, and after destroy" do
    lp = ZMQ::Loop.new
    assert_misuse(/not running/) { lp.stop }
    refute lp.running?
    assert_nil lp.destroy
    timer = ZMQ::Timer.new(1, 1) {}
    assert_misuse(/ZMQ::Loop instance \w* has been destroyed/, -> { lp.start }, -> { lp.stop },
      -> { lp.running? }, -> { lp.register($stdin) }, -> { lp.remove($stdin) },
      -> { lp.register_timer(timer) }, -> { lp.cancel_timer(timer) }, -> { lp.destroy },
      -> { lp.verbose = true })
  end

  test "a running loop cannot be started, and keeps running" do
    lp = ZMQ::Loop.new
    running = nil
    lp.register_timer(ZMQ::Timer.new(0.001, 1) do
      assert_misuse(/\Aevent loop running already!\z/) { lp.start }
      running = lp.running?
      lp.stop
    end)
    assert_equal [-1, true], [lp.start, running]
  end

  test "Timer" do
    assert_raise(ArgumentError) { ZMQ::Timer.new(1, 2) }
    assert_raise TypeError, -> { ZMQ::Timer.new("1", 2) {} }, -> { ZMQ::Timer.new(1, "2") {} },
      -> { ZMQ::Timer.new(1, nil) {} }
    timer = ZMQ::Timer.new(1, 2, ->(*args) { args })
    assert_equal [[], [1, 2]], [timer.fire, timer.call(1, 2)]
    assert_equal :fired, ZMQ::Timer.new(0.5, 0) { :fired }.fire
    error = RuntimeError.new("oops")
    assert_same error, assert_raise(RuntimeError) { timer.on_error(error) }
    assert_nil timer.cancel
    assert_misuse(/already cancelled/, -> { timer.fire }, -> { timer.call })
  end
end
