# frozen_string_literal: true

require "set"
require_relative "case"

# How a Godwit::Loop ends, what errors do, and objects that close while the loop runs.
class LoopEndingsTest < Conformance::Case
  def setup
    super
    @log = []
  end

  # ---- stop ----

  test "stop ends run after the callback that calls it; other ready objects wait for the next " \
    "run" do
    loop = open_loop
    pairs = Array.new(3) { connected_pair(:PULL, :PUSH, transport: :inproc) }
    pairs.each do |pull, push|
      push.send("x")
      loop.readable(pull) { |socket| @log << socket.recv && loop.stop }
    end
    3.times do |number|
      assert_equal :stopped, loop.run
      assert_equal number + 1, @log.size
    end
    2.times { loop.after(0) { @log << :timer && loop.stop } }
    2.times { loop.post { @log << :post && loop.stop } }
    4.times { assert_equal :stopped, loop.run }
    assert_equal %i[timer timer post post].tally, @log.drop(3).tally
    assert_equal 7, @log.size
  end

  test "a stop from another thread ends the run, however it meets it" do
    loop = open_loop
    rounds(200, stressed: 5).times do |number|
      running = in_thread { loop.run(forever: true) }
      until_waiting(loop) if number.even?
      loop.stop
      assert_equal :stopped, running.value
    end
  end

  test "it is run once at a time" do
    loop = open_loop
    loop.post do
      assert_named(Godwit::StateError, /runs already/, operation: :run) { loop.run }
      @log << loop.running? << loop.to_s
    end
    assert_equal :empty, loop.run
    assert_equal [true, "#<Godwit::Loop running, 0 registered, 0 timers>"], @log
    refute_predicate loop, :running?
  end

  # ---- errors ----

  test "run raises a callback's error, and the next run resumes everything else" do
    pull, push = connected_pair(:PULL, :PUSH)
    loop = open_loop
    loop.readable(pull) do |socket|
      raise IOError, "a mistake" if !@log.include?(:raised) && @log << :raised
      @log << socket.recv
      loop.remove(socket)
    end
    loop.after(0.02) { @log << :timer }
    push.send("x")
    assert_equal "a mistake", assert_raises(IOError) { loop.run }.message
    refute_predicate loop, :running?
    assert_equal :empty, loop.run
    assert_equal [:raised, :timer, "x"], @log.sort_by(&:to_s)
    loop.every(0.001, times: 2) { |timer| raise ArgumentError if timer.fired == 1 }
    assert_raises(ArgumentError) { loop.run }
    loop.post { raise KeyError }.post { @log << :posted }
    assert_raises(KeyError) { loop.run }
    assert_equal :empty, loop.run
    assert_equal :posted, @log.last
  end

  test "on_error gets each error and the failed callback's object; the loop continues" do
    pull, push = connected_pair(:PULL, :PUSH)
    loop = open_loop
    assert_same loop,
      loop.on_error { |error, source|
        @log << [error.message, source] and source.equal?(pull) && loop.remove(pull)
      }
    loop.readable(pull) { |socket| socket.recv && raise("socket") }
    timer = loop.after(0) { push.send("x") && raise("timer") }
    loop.post { raise "post" }
    assert_equal :empty, loop.run
    assert_equal [["timer", timer], ["post", loop], ["socket", pull]], @log
    loop.on_error { |error, _| raise error.class, "from on_error" }
    loop.post { raise KeyError, "a mistake" }
    assert_equal "from on_error", assert_raises(KeyError) { loop.run }.message
    loop.on_error
    loop.post { raise KeyError, "a mistake" }
    assert_equal "a mistake", assert_raises(KeyError) { loop.run }.message
  end

  test "on_error gets only StandardErrors" do
    loop = open_loop
    loop.on_error { flunk }
    loop.post { throw :out, 42 }
    assert_equal(42, catch(:out) { loop.run })
    loop.post { raise NotImplementedError, "away" }
    assert_equal "away", assert_raises(NotImplementedError) { loop.run }.message
    loop.post { @log << 1 }
    assert_equal :empty, loop.run
  end

  # ---- objects that close while they are registered ----

  test "a callback closes its own socket or IO, and no error is reported" do
    pull, push = connected_pair(:PULL, :PUSH)
    out, into = pipe
    loop = open_loop
    loop.readable(pull) { |socket| @log << socket.recv && socket.close }
    loop.readable(out) { |io| @log << io.readpartial(10) && io.close }
    loop.writable(into) { |io| io.write("y") && loop.remove(io) }
    push.send("x")
    assert_equal :empty, loop.run
    assert_equal %w[x y], @log.sort
    assert_equal [false, false], [loop.registered?(pull), loop.remove(pull)]
  end

  test "a callback that closes its own socket and raises raises only its own error" do
    pull, push = connected_pair(:PULL, :PUSH)
    loop = open_loop
    loop.readable(pull) { |socket| socket.close && nil || raise(KeyError) }
    push.send("x")
    assert_raises(KeyError) { loop.run }
    assert_equal :empty, loop.run
  end

  {"socket" => -> { connected_pair(:PULL, :PUSH).first },
   "IO" => -> { pipe.first }}.each do |name, made|
    test "the #{name} of another callback is closed: reported, removed, and the rest continues" do
      thing = instance_exec(&made)
      loop = open_loop
      loop.readable(thing) { flunk }
      loop.after(0.01) { thing.close && nil }
      loop.after(0.05) { @log << :later }
      error =
        assert_named(
          Godwit::ClosedError, /was closed while it was registered.*taken it out/, operation: :run
        ) { loop.run }
      assert_includes error.message, thing.inspect
      refute loop.registered?(thing)
      assert_equal :empty, loop.run
      assert_equal [:later], @log
      another = instance_exec(&made)
      loop.readable(another) { flunk }
      loop.after(0.01) { loop.remove(another) && another.close }
      assert_equal :empty, loop.run
    end
  end

  test "a ready object that an earlier callback closes is reported, not called" do
    loop = open_loop
    pulls = Array.new(2) do
      pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
      push.send("x")
      pull
    end
    ends = Array.new(2) { pipe.tap { |_, into| into << "y" }.first }
    loop.on_error { |error, source| @log << [error.class, source] }
    [pulls, ends].each do |both|
      both.zip(both.reverse) do |mine, other|
        loop.readable(mine) do |one|
          @log << :called
          loop.remove(one)
          other.close
        end
      end
    end
    assert_equal :empty, loop.run
    assert_equal 2, @log.count(:called)
    reported = @log - [:called]
    assert_equal [Godwit::ClosedError], reported.map(&:first).uniq
    assert_equal((pulls + ends).select(&:closed?).to_set, reported.map(&:last).to_set)
  end

  test "an IO that another thread closes is reported by run" do
    out, = pipe
    loop = open_loop
    loop.readable(out) { flunk }
    running = waiting_on(loop) { loop.run }
    out.close
    assert_named(Godwit::ClosedError, /was closed while it was registered/, operation: :run) do
      running.value
    end
    refute loop.registered?(out)
  end

  test "a context is shut down: each of its sockets is reported, the others stay" do
    home = own(Godwit::Context.new(linger: 0))
    pulls = Array.new(2) { own(Godwit::PULL.bind(endpoint_for(:tcp), context: home)) }
    pull, push = connected_pair(:PULL, :PUSH)
    loop = open_loop
    loop.on_error { |error, source| @log << [error.class, source] }
    [pulls.first, pull, pulls.last].each do |socket|
      loop.readable(socket) { |one| @log << one.recv && loop.remove(one) }
    end
    running = waiting_on(loop) { loop.run }
    home.shutdown
    eventually { @log.size == 2 }
    push.send("x")
    assert_equal :empty, running.value
    assert_equal pulls.map { |one| [Godwit::ContextTerminatedError, one] }.tally.merge("x" => 1),
      @log.tally
  end

  # ---- close ----

  test "close in a callback, a timer and a post ends run as stop does" do
    pull, push = connected_pair(:PULL, :PUSH)
    push.send("x")
    [->(loop) { loop.readable(pull) { loop.close } }, ->(loop) { loop.after(0) { loop.close } },
      ->(loop) { loop.post(&:close) }].each do |start|
      loop = open_loop
      start.call(loop)
      assert_equal :stopped, loop.run
      assert_predicate loop, :closed?
    end
    refute_predicate pull, :closed?
    assert_equal "x", pull.recv
  end

  test "close is idempotent, and every later call raises" do
    loop = open_loop
    pull = open_socket(:PULL)
    timer = loop.after(1) { flunk }
    loop.readable(pull) {}
    2.times { assert_nil loop.close }
    assert_equal "#<Godwit::Loop closed>", loop.inspect
    calls = [
      -> { loop.run }, -> { loop.readable(pull) {} }, -> { loop.writable(pull) {} },
      -> { loop.remove(pull) }, -> { loop.after(1) {} }, -> { loop.every(1) {} },
      -> { loop.post {} }
    ]
    calls.each { |call| assert_named(Godwit::ClosedError, /Loop.new makes another/) { call.call } }
    assert_same loop, loop.stop
    assert_same timer, timer.cancel
    assert_same timer, timer.reset
  end

  test "forms with a block close, and give the block's value or run's" do
    kept = []
    assert_equal :value, Godwit::Loop.new { |loop| (kept << loop) && :value }
    assert_equal :stopped, Godwit::Loop.run { |loop| (kept << loop) && loop.stop }
    assert_raises(KeyError) { Godwit::Loop.run { |loop| (kept << loop) && raise(KeyError) } }
    assert_equal [true, true, true], kept.map(&:closed?)
  end
end
