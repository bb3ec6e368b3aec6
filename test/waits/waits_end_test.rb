# frozen_string_literal: true

require "test_helper"
require "timeout"
require "support/waiting_calls"
require "support/tiny_scheduler"

# Every waiting call ends at once on everything that ends it; and the socket can be used, or closed, afterwards.
class WaitsEndTest < Godwit::TestCase
  include Godwit::TestSupport::WaitingCalls

  AT_ONCE = 0.1 # seconds; beside other work on the machine a few tries are given
  TRIES = 5
  Stop = Class.new(StandardError)

  # Defines a test for each waiting call.
  def self.each_call(sentence, only: ALL.keys, &body)
    only.each { |name| test("#{name} #{sentence}") { in_time { instance_exec(name, &body) } } }
  end

  each_call "ends on Thread#kill" do |name|
    call, thread = wait_in_thread(name)
    seconds { thread.kill.join }.tap { assert_usable(call) }
  end

  each_call "ends on Thread#raise" do |name|
    call, thread = wait_in_thread(name)
    seconds do
      thread.raise(Stop)
      assert_raises(Stop) { thread.value }
    end.tap { assert_usable(call) }
  end

  each_call "ends on Timeout.timeout" do |name|
    call = prepare(name)
    seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.01) { call.run } } }.tap { assert_usable(call) }
  end

  each_call "ends when its socket is closed" do |name|
    call, thread = wait_in_thread(name)
    seconds do
      call.socket.close
      assert_ended(call, thread, Godwit::ClosedError)
    end
  end

  each_call "ends when its context is shut down" do |name|
    call, thread = wait_in_thread(name)
    seconds do
      call.socket.context.shutdown
      assert_ended(call, thread, Godwit::ContextTerminatedError)
    end
  end

  each_call "ends when its context is closed" do |name|
    call, thread = wait_in_thread(name)
    seconds do
      call.socket.context.close
      assert_ended(call, thread, Godwit::ClosedError)
    end
  end

  # Ruby itself crashes when a thread ends that a fiber of a thread that is gone had joined.
  each_call "ends on Thread#kill in a fiber under a plain scheduler", only: ALL.keys - ["Proxy run"] do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    call = prepare(name)
    waiting = false
    thread = Godwit::TestSupport::TinyScheduler.thread do |scheduler|
      scheduler.careless = true
      Fiber.schedule { call.run }
      waiting = true
      scheduler.run
    end
    eventually { waiting }
    until_asleep(thread)
    seconds { thread.kill.join }.tap do
      assert_closes(call)
      thread = nil
      GC.start # until then the fiber might still be resumed, and its socket is in use
    end
  end

  each_call "ends in a fiber when its socket is closed" do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    call = prepare(name)
    fiber = in_fiber { call.run }
    seconds do
      call.socket.close
      assert_ended(call, fiber, Godwit::ClosedError)
    end
  end

  each_call "ends in a fiber when its context is shut down" do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    call = prepare(name)
    fiber = in_fiber { call.run }
    seconds do
      call.socket.context.shutdown
      assert_ended(call, fiber, Godwit::ContextTerminatedError)
    end
  end

  each_call "ends in ten threads and fibers when its socket is closed" do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    next 0 if name.match?(/request|serve|Proxy/) # one at a time
    call = prepare(name)
    waiters = Array.new(5) { in_thread { call.run } } + Array.new(5) { in_fiber { call.run } }
    until_asleep(*waiters)
    seconds do
      call.socket.close
      waiters.each { |waiter| assert_ended(call, waiter, Godwit::ClosedError) }
    end
  end

  # The main thread is not alone here, and waits in another way.
  test "a deadline ends the wait of a thread, and of one that is alone" do
    dealer = open_socket(:DEALER).bind(endpoint_for(:tcp))
    thread = in_thread { [dealer.recv(timeout: 0.05, exception: false), dealer.wait_readable(0.05)] }
    assert thread.join(3), "it waits on"
    assert_equal [nil, nil], thread.value
    assert_child(run_child('require "godwit"; exit!(Godwit::PULL.bind("tcp://127.0.0.1:*").recv(timeout: 0.05, exception: false).nil?)'))
  end

  # Under handle_interrupt a kill that comes before the wait is put off until the wait, and must be seen by it.
  each_call "ends on a kill that was put off" do |name|
    call = prepare(name)
    go = false
    turns = 0
    thread = in_thread do
      Thread.handle_interrupt(Object => :on_blocking) do
        turns += 1 until go
        call.run
      end
    end
    eventually { turns.positive? }
    thread.kill
    seen = turns
    eventually { turns > seen + 1000 } # it has looked at the kill, and put it off
    seconds do
      go = true
      assert thread.join(2), "#{name} waits on though it was killed"
    end.tap { assert_usable(call) }
  end

  # On JRuby such a wait is a call of C, which looks for no interrupt.
  %i[kill raise].each do |how|
    test "short waits again and again end on a #{how} that was put off" do
      pull = open_socket(:PULL).bind(endpoint_for(:tcp))
      looks = 0
      assert_at_once do
        thread = in_thread do
          Thread.handle_interrupt(Object => :on_blocking) { loop { pull.recv(timeout: 0.003, exception: false) || looks += 1 } }
        rescue Stop
          nil
        end
        seen = looks
        eventually { looks > seen }
        seconds do
          (how == :kill) ? thread.kill : thread.raise(Stop)
          assert thread.join(5), "it waits on"
        end
      end
    end
  end

  # What interrupts are held off from: the wait goes on, does not spin, and takes what comes.
  test "a kill that is held off does not disturb the wait" do
    pull, push = connected_pair(:PULL, :PUSH)
    thread = in_thread do
      Thread.handle_interrupt(Object => :never) do
        [pull.recv, pull.recv]
      end
    end
    until_asleep(thread)
    thread.raise(Stop)
    push.send("1")
    # What a busy machine, or Java's compiler, uses in one window is not what a spinning wait uses in each.
    spins = Array.new(TRIES) do
      before = cpu_seconds
      refute thread.join(0.3)
      cpu_seconds - before
    end
    assert_operator spins.min, :<, 0.2, "it spins"
    push.send("2")
    assert_raises(Stop) { thread.join(5) }
  end

  private

  # The machine may be busy: what is late now and then is not what this looks for, what is always late is.
  def in_time
    slowest = Array.new(TRIES) do
      taken = yield
      return assert_operator(taken, :<=, AT_ONCE) if taken <= AT_ONCE
      taken
    end
    flunk "took #{slowest.map { |taken| taken.round(3) }} s, each time"
  end

  def cpu_seconds = Process.times.then { |times| times.utime + times.stime }

  def prepare(name)
    home = own(Godwit::Context.new(linger: 0))
    waiting_call(name) { |type, **more| own(Godwit.const_get(type).new(context: home, **more)) }
  end

  def wait_in_thread(name)
    call = prepare(name)
    thread = in_thread { call.run }
    until_asleep(thread)
    [call, thread]
  end

  # A thread whose only work is one fiber, which waits by now.
  def in_fiber(&block) = fiber(&block).tap { |thread| until_asleep(thread) }

  def assert_ended(call, thread, error)
    assert thread.join(2), "#{call.name} waits on"
    assert ENDS_WELL.include?(call.name), "#{call.name} gave #{thread.value.inspect}"
    assert_same call.socket, thread.value
  rescue error
    refute_includes ENDS_WELL, call.name
  end

  def assert_usable(call)
    refute call.socket.closed?
    assert_kind_of Array, call.socket.events
    assert_closes(call)
  end

  # With nobody left inside, the context ends at once.
  def assert_closes(call)
    call.socket.close
    assert call.socket.closed?
  end
end
