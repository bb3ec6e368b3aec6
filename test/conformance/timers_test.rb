# frozen_string_literal: true

# libzmq: test_timers

require "support/interrupts"
require "support/tiny_scheduler"
require_relative "case"

# Godwit::Timers. Most tests set the clock themselves, and so do not wait.
class TimersTest < Conformance::Case
  include Godwit::TestSupport::Interrupts

  def setup
    super
    @now = 1000.0
    @timers = Godwit::Timers.new(clock: -> { @now })
    @log = []
  end

  test "once, several times, for ever" do
    once = @timers.after(2) { |timer| @log << [@now, :once, timer] }
    thrice = @timers.every(1, times: 3) { |timer| @log << [@now, :thrice, timer.fired] }
    ever = @timers.every(2.5) { @log << [@now, :ever] }
    assert_equal [1.0, 3], [@timers.next_in, @timers.size]
    assert_equal 0, @timers.fire
    fire_at(0.999, 1, 1.5, 2, 2.25, 2.5, 3, 4, 5)
    expected = [
      [1001, :thrice, 1], [1002, :once, once], [1002, :thrice, 2], [1002.5, :ever],
      [1003, :thrice, 3], [1005, :ever]
    ]
    assert_equal expected, @log
    assert_equal [[1, false], [3, false], [2, true]],
      [once, thrice, ever].map { |timer| [timer.fired, timer.pending?] }
    assert_equal [2.5, 1], [ever.next_in, @timers.size]
    assert_match(/Timers 1 pending, the next in 2.5 s>/, @timers.inspect)
    assert_match(/after 2 s, fired 1 of 1 times, ended>/, once.inspect)
    assert_match(/every 1 s, fired 3 of 3 times, ended>/, thrice.inspect)
    assert_match(/every 2.5 s, fired 2 times, in 2.5 s>/, ever.inspect)
    refute_predicate once, :cancelled?
    assert_nil once.next_in
    assert_match(/cancelled>/, ever.cancel.to_s)
    assert_nil @timers.next_in
    assert_predicate @timers, :empty?
  end

  test "firings missed in a stall are skipped, and the next one keeps the old rhythm" do
    timer = @timers.every(1, times: 4) { @log << @now - 1000 }
    fire_at(1, 5.5, 5.6, 6, 100, 101)
    assert_equal [1, 5.5, 6, 100], @log
    assert_equal [4, false], [timer.fired, timer.pending?]
    @timers.every(1) { @log << @now - 1000 }
    fire_at(103, 103, 103.5, 104) # nobody called `fire` at 102, so that firing is skipped
    assert_equal [103, 104], @log.last(2)
  end

  # ---- callbacks that change timers ----

  test "a callback cancels itself, other due timers, and later timers" do
    own = @timers.every(1) { |timer| timer.cancel && @log << :own }
    victims = [1, 1, 2].map { |seconds| @timers.after(seconds) { @log << :victim } }
    killer = @timers.after(0.5) { victims.each(&:cancel) }
    late = nil
    @timers.after(0.75) { late.cancel }
    late = @timers.every(0.8) { @log << :late }
    fire_at(3)
    assert_equal [:own], @log
    assert_equal [true, true, true, true, false], [own, *victims, killer].map(&:cancelled?)
    assert_predicate @timers, :empty?
  end

  test "timers made in a callback are for the next round, also those due at once" do
    @timers.after(1) do
      @log << :first
      @timers.after(0) { @log << :second }
      @timers.every(0, times: 2) { @log << :each_round }
    end
    assert_equal 1, at(1) { @timers.fire }
    assert_equal [2, 1, 0], [1.1, 1.2, 1.3].map { |time| at(time) { @timers.fire } }
    assert_equal %i[first second each_round each_round], @log
  end

  test "a callback resets itself and changes its interval" do
    @timers.every(1, times: 2) do |timer|
      @log << @now - 1000
      timer.interval = 3 if @log.size == 1
      timer.reset if @log.size == 3
    end
    fire_at(1, 2, 4, 5, 7, 8, 10, 13, 16, 20)
    assert_equal [1, 4, 7, 10, 13], @log
  end

  test "fire raises an error, and leaves the other timers unchanged" do
    periodic = @timers.every(1) do |timer|
      @log << timer.fired
      raise IOError, "a mistake" if timer.fired == 1
    end
    @timers.after(1) { @log << :other }
    assert_equal "a mistake", assert_raises(IOError) { fire_at(1) }.message
    assert_equal [1], @log
    assert_equal 1, at(1.5) { @timers.fire }
    fire_at(2)
    assert_equal [1, :other, 2], @log
    assert_equal 2, periodic.fired
  end

  # ---- a single timer ----

  test "cancel, reset and interval=" do
    timer = @timers.after(1) { @log << @now - 1000 }
    assert_same timer, timer.cancel
    assert_same timer, timer.cancel
    assert_equal [true, false, 0], [timer.cancelled?, timer.pending?, timer.fired]
    fire_at(2)
    assert_same timer, timer.reset
    assert_equal [false, true, 1.0], [timer.cancelled?, timer.pending?, timer.next_in]
    @now = 1002.5
    timer.reset
    fire_at(3.25, 3.5)
    timer.reset
    timer.interval = 5
    assert_equal 5, timer.interval
    fire_at(8, 8.5, 20)
    assert_equal [3.5, 8.5], @log
    assert_equal [1, 1], [timer.times, timer.fired]
    assert_nil @timers.every(1) {}.times
    assert_equal :value, @timers.after(1) { :value }.call
  end

  test "cancel_all leaves nothing" do
    timers = Array.new(10) { |number| @timers.every(number) { @log << number } }
    assert_same @timers, @timers.cancel_all
    fire_at(100)
    assert_empty @log
    assert timers.all?(&:cancelled?)
    timers.first.reset
    assert_equal 1, @timers.size
  end

  test "errors of wrong use name the fix" do
    timer = @timers.after(1) {}
    type, value = Godwit::ArgumentTypeError, Godwit::ArgumentValueError
    [nil, "1", Complex(1, 1)].each do |bad|
      assert_named(type, /a number of seconds/, operation: :every) { @timers.every(bad) {} }
    end
    [-1, Float::NAN, Float::INFINITY, -0.1].each do |bad|
      assert_named(value, /at least 0 seconds/, operation: :after) { @timers.after(bad) {} }
    end
    assert_mistakes(
      -> { @timers.after(1) } => [value, /block/], -> { @timers.every(1) } => [value, /block/],
      -> { @timers.every(1, times: 0) {} } => [value, /times: takes at least 1/],
      -> { timer.interval = -1 } => [value, /at least 0/],
      -> { @timers.wait(-1) } => [value, /at least 0/],
      -> { @timers.every(1, times: 1.5) {} } => [type, /times: takes an Integer/],
      -> { @timers.dup } => [Godwit::UnsupportedError, /copied/]
    )
    assert_equal [1, 1], [timer.interval, @timers.size]
  end

  # ---- real time ----

  test "wait sleeps until the next is due, fires it, and is never early" do
    timers = Godwit::Timers.new
    start = monotonic
    times = []
    timers.every(0.03, times: 3) { times << monotonic - start }
    assert_equal [1, 1, 1, 0], Array.new(4) { timers.wait }
    times.each_with_index { |time, index| assert_operator time, :>=, 0.03 * (index + 1) }
    assert_operator times.last, :<, 2
    timers.after(60) { flunk }
    assert_takes(0.02) { assert_equal 0, timers.wait(0.02) }
    assert_equal 0, timers.wait(0)
  end

  test "a wait takes account of a timer that another thread makes, resets and cancels" do
    timers = Godwit::Timers.new
    changed = count_waiters(timers, :@changed)
    far = timers.after(1000) { :far }
    {
      -> { timers.after(0.01) { @log << :near } } => 1, -> { far.interval = 0.01 } => 1,
      -> { far.reset.cancel } => 0
    }.each do |change, fired|
      far.interval = 1000
      waiting = waiting_on(changed) { timers.wait }
      change.call
      assert_equal fired, waiting.value
    end
    assert_equal [:near], @log
  end

  test "many threads make, cancel and fire; each timer fires once, or not at all when it was " \
    "cancelled" do
    timers = Godwit::Timers.new
    count = rounds(400, stressed: 20)
    fired = Thread::Queue.new
    makers = Array.new(3) do |maker|
      in_thread do
        count.times do |number|
          timers.after((number % 7) / 1000.0) { fired << [maker, number] }
          timers.after(100) {}.cancel if number.even?
          Thread.pass if (number % 50).zero?
        end
      end
    end
    firing =
      Array.new(2) do
        in_thread { timers.wait(0.005) while makers.any?(&:alive?) || !timers.empty? }
      end
    [*makers, *firing].each(&:join)
    seen = Array.new(fired.size) { fired.pop }
    assert_equal 3 * count, seen.size
    assert_equal seen.uniq.size, seen.size
  end

  # A Thread#kill or Ctrl-C may interrupt a change of timers at any line of the library.
  {
    "making" => ->(timers, _, _) { timers.after(0.5) {} },
    "cancelling" => ->(_, all, _) { all[1].cancel },
    "resetting" => ->(_, all, _) { all[0].interval = 30 },
    "firing" => ->(timers, _, now) { now[:time] = 3.0 and timers.fire }
  }.each do |name, change|
    test "an interrupt during #{name} loses no timer and no order" do
      not_on :jruby, "a TracePoint there cannot raise at a line"
      at_each_line(%r{lib/godwit/timers}, least: 11) do |interrupted|
        now = {time: 0.0}
        fired = []
        timers = Godwit::Timers.new(clock: -> { now[:time] })
        all = [1, 3, 2, 9, 5, 7, 4, 8].map do |seconds|
          timers.after(seconds) { |timer| fired << timer }
        end
        reached = interrupted.call { change.call(timers, all, now) }
        all << timers.after(6) { |timer| fired << timer }
        now[:time] = 100.0
        timers.fire
        assert_predicate timers, :empty?
        assert_equal fired.uniq.sort_by { |timer| [timer.deadline, timer.serial] }, fired
        lost = all - fired
        assert_operator lost.size, :<=, 1
        # Only the cancelled timer, or the one whose callback was about to run, may be lost.
        assert_includes all.first(3), lost.first if lost.any?
        all.each(&:reset)
        assert_equal 9, timers.size
        reached
      end
    end
  end

  # ---- cost ----

  test "making, firing and cancelling one of 2,000 timers takes O(log n) comparisons" do
    not_on :jruby, "JRuby has no TracePoint of a single method"
    size = rounds(2000, stressed: 100)
    random = Random.new(3)
    timers = Array.new(size) { @timers.after(random.rand(1000.0)) {} }
    most = 4 * Math.log2(size).ceil
    chosen = timers.sample([500, size].min, random: random)
    {
      "making" => -> { chosen.each { @timers.after(random.rand(1000.0)) {} } },
      "cancelling" => -> { chosen.each(&:cancel) }, "resetting" => -> { chosen.each(&:reset) },
      "firing" => -> { chosen.each_index { |index| @timers.next_due(2000.0 + index) } }
    }.each do |name, change|
      assert_operator comparisons(&change), :<, chosen.size * most, name
    end
    # Deadlines in descending order: the worst case for a sorted list and for a heap.
    @timers.cancel_all
    assert_operator comparisons { size.times { |index| @timers.after(size - index) {} } },
      :<, size * most
  end

  test "the heap gives the order of a sort" do
    random = Random.new(4)
    pending = {}
    rounds(3000, stressed: 50).times do |number|
      case random.rand(6)
      when 0..2 then pending[@timers.after(random.rand(20)) { |timer| @log << timer }] = nil
      when 3 then pending.delete(pending.keys.sample(random: random)&.cancel)
      when 4 then pending.keys.sample(random: random)&.interval = random.rand(20)
      when 5
        at(@now - 1000 + random.rand(3)) do
          due =
            pending.keys.select { |timer| timer.next_in.zero? }
              .sort_by { |timer| [timer.deadline, timer.serial] }
          @log.clear
          @timers.fire
          assert_equal due, @log
          due.each { |timer| pending.delete(timer) }
        end
      end
      assert_equal pending.size, @timers.size
    end
  end

  test "a fiber that waits lets others run" do
    not_on :jruby, "JRuby has no fiber scheduler"
    order = []
    in_thread do
      Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
      timers = Godwit::Timers.new
      timer = timers.after(1000) { order << :timer }
      Fiber.schedule { timers.wait }
      Fiber.schedule do
        order << :other
        timer.interval = 0
      end
    end.join
    assert_equal %i[other timer], order
  end

  private

  def at(seconds)
    @now = 1000.0 + seconds
    yield
  end

  def fire_at(*times)
    times.each { |time| at(time) { @timers.fire } }
  end

  # The number of comparisons of two timers during the block.
  def comparisons
    count = 0
    trace = TracePoint.new(:call) { count += 1 }
    trace.enable(target: Godwit::Timers::Timer.instance_method(:before?)) { yield }
    count
  end
end
