# frozen_string_literal: true

require "test_helper"
require "timeout"
require "support/endings"
require "support/waiting_calls"
require "support/tiny_scheduler"

# Every ending ends a wait, and the socket can be used, or closed, afterwards. Each ending is tested
# on each kind of wait, and each waiting call with one ending, which the seed chooses. How soon a
# wait ends: test/timing.
class WaitsEndTest < Godwit::TestCase
  extend Godwit::TestSupport::Endings
  include Godwit::TestSupport::WaitingCalls

  Stop = Class.new(StandardError)
  ending "ends on Thread#kill" do |name|
    call, thread = wait_in_thread(name)
    thread.kill
    assert thread.join(HANG), "it waits on"
    assert_usable(call)
  end

  ending "ends on Thread#raise" do |name|
    call, thread = wait_in_thread(name)
    thread.raise(Stop)
    assert_raises(Stop) { ended(thread) }
    assert_usable(call)
  end

  ending "ends on Timeout.timeout" do |name|
    call = prepare(name)
    assert_raises(Timeout::Error) { Timeout.timeout(0.01) { call.run } }
    assert_usable(call)
  end

  ending "ends when its socket is closed" do |name|
    call, thread = wait_in_thread(name)
    call.socket.close
    assert_ended(call, thread, Godwit::ClosedError)
  end

  ending "ends when its context is shut down" do |name|
    call, thread = wait_in_thread(name)
    call.socket.context.shutdown
    assert_ended(call, thread, Godwit::ContextTerminatedError)
  end

  ending "ends when its context is closed" do |name|
    call, thread = wait_in_thread(name)
    call.socket.context.close
    assert_ended(call, thread, Godwit::ClosedError)
  end

  ending "ends on Thread#kill in a fiber under a plain scheduler" do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    call = prepare(name)
    kill_thread_of_fiber(call)
    assert_closes(call)
    GC.start # until then the fiber might still be resumed, and its socket is in use
  end

  ending "ends in a fiber when its socket is closed" do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    call = prepare(name)
    fiber = in_fiber(call)
    call.socket.close
    assert_ended(call, fiber, Godwit::ClosedError)
  end

  ending "ends in a fiber when its context is shut down" do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    call = prepare(name)
    fiber = in_fiber(call)
    call.socket.context.shutdown
    assert_ended(call, fiber, Godwit::ContextTerminatedError)
  end

  ending "ends in ten threads and fibers when its socket is closed" do |name|
    not_on :jruby, "JRuby has no fiber scheduler"
    call = prepare(name)
    waiters = Array.new(5) { in_thread { call.run } } + Array.new(5) { fiber { call.run } }
    # A call that makes its own monitor waits there: all of them count for the socket.
    until_waiting(call.waited_on, 10)
    call.socket.close
    waiters.each { |waiter| assert_ended(call, waiter, Godwit::ClosedError) }
  end

  # Under handle_interrupt a kill before the wait is deferred until the wait, and the wait must see
  # it.
  ending "ends on a kill that was put off" do |name|
    call = prepare(name)
    ready = Thread::Queue.new
    go = false
    thread = in_thread do
      Thread.handle_interrupt(Object => :on_blocking) do
        ready << true
        Thread.pass until go # no Queue: that would be a wait
        call.run
      end
    end
    ready.pop
    thread.kill
    go = true
    assert thread.join(HANG), "#{name} waits on though it was killed"
    assert_usable(call)
  end

  # Ruby itself crashes when a thread ends that a fiber of a dead thread had joined, as Proxy#run
  # does; and a REQ, a REP and a proxy serve one caller at a time.
  ALL.each_key do |name|
    possible = endings.keys
    possible -= ["ends on Thread#kill in a fiber under a plain scheduler"] if name == "Proxy run"
    possible -= ["ends in ten threads and fibers when its socket is closed"] if name.match?(
      /request|serve|Proxy/
    )
    possible = possible.grep_v(/fiber/) if RUBY_ENGINE == "jruby"
    one_ending(name, possible)
  end

  # The main thread is not alone here, and waits by other means.
  test "a deadline ends the wait of a thread, also of a single thread" do
    dealer = open_socket(:DEALER).bind(endpoint_for(:tcp))
    thread =
      in_thread { [dealer.recv(timeout: 0.02, exception: false), dealer.wait_readable(0.02)] }
    assert_equal [nil, nil], ended(thread)
    assert_child(
      run_child(
        'require "godwit"; exit!(Godwit::PULL.bind("tcp://127.0.0.1:*").recv(timeout: 0.02, ' \
        "exception: false).nil?)"
      )
    )
  end

  # On JRuby such a wait is a call of C, which looks for no interrupt.
  %i[kill raise].each do |how|
    test "short waits again and again end on a #{how} that was put off" do
      pull = open_socket(:PULL).bind(endpoint_for(:tcp))
      looks = Thread::Queue.new
      thread = in_thread do
        Thread.handle_interrupt(Object => :on_blocking) do
          loop { pull.recv(timeout: 0.003, exception: false) || looks << true }
        end
      rescue Stop
        nil
      end
      looks.pop
      (how == :kill) ? thread.kill : thread.raise(Stop)
      assert thread.join(HANG), "it waits on"
    end
  end

  # With interrupts deferred: the wait continues, and takes the next message.
  test "a kill that is held off does not disturb the wait" do
    pull, push = connected_pair(:PULL, :PUSH)
    taken = Thread::Queue.new
    thread = in_thread do
      Thread.handle_interrupt(Object => :never) { 2.times { taken << pull.recv } }
    end
    until_waiting(pull)
    thread.raise(Stop)
    push.send("1")
    assert_equal "1", taken.pop
    until_waiting(pull)
    push.send("2")
    assert_raises(Stop) { ended(thread) }
    assert_equal "2", taken.pop
  end

  private

  def prepare(name)
    home = own(Godwit::Context.new(linger: 0))
    call =
      waiting_call(name) { |type, **more| own(Godwit.const_get(type).new(context: home, **more)) }
    own(call.waited_on) if call.waited_on.is_a?(Godwit::Poller)
    call
  end

  def wait_in_thread(name)
    call = prepare(name)
    thread = in_thread { call.run }
    until_waiting(call.waited_on)
    [call, thread]
  end

  # A thread whose only work is one fiber, which waits by now.
  def in_fiber(call) = fiber { call.run }.tap { until_waiting(call.waited_on) }

  # A separate method, so that nothing here holds the fiber afterwards.
  def kill_thread_of_fiber(call)
    thread = Godwit::TestSupport::TinyScheduler.thread do |scheduler|
      scheduler.careless = true
      Fiber.schedule { call.run }
      scheduler.run
    end
    until_waiting(call.waited_on)
    thread.kill
    assert thread.join(HANG), "it waits on"
  end

  def assert_ended(call, thread, error)
    assert thread.join(HANG), "#{call.name} waits on"
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

  # Without a waiter left the context ends at once.
  def assert_closes(call)
    call.socket.close
    assert call.socket.closed?
  end
end
