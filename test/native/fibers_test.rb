# frozen_string_literal: true

require "socket"
require "test_helper"
require "timeout"
require "support/tiny_scheduler"
ENV["CONSOLE_LEVEL"] ||= "fatal"
require "async"

# Waits in fibers: under the async gem's scheduler, and under a scheduler that has only the four
# methods that Ruby requires.
class FibersTest < Godwit::TestCase
  under_gc_stress

  Tiny = Godwit::TestSupport::TinyScheduler

  test "task.stop and with_timeout end every wait, and the socket stays usable" do
    pull, push = connected_pair(:PULL, :PUSH)
    Sync do |task|
      [-> { pull.recv }, -> { pull.each { |_| } }, -> { pull.recv_many }, -> { pull.wait_readable }]
        .each do |wait|
        stopped = task.async(&wait).tap(&:stop)
        assert stopped.stopped? || stopped.finished?
        assert_raises(Async::TimeoutError) { task.with_timeout(0.005, &wait) }
        assert_raises(Timeout::Error) { Timeout.timeout(0.005) { wait.call } }
        assert_nil pull.wait_readable(0.005)
        push.send("x")
        assert_equal "x", pull.recv
      end
    end
  end

  {"async" => :run_async, "a plain scheduler" => :run_tiny}.each do |name, runner|
    test "fibers that never have to wait let others run, under #{name}" do
      pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 0, recv_hwm: 0)
      2_000.times { push.send("x") }
      poller = open_poller(pull)
      [-> { pull.recv }, -> { push.send("x") }, -> { poller.wait }].each do |call|
        calls = turns = 0
        __send__(runner) do |spawn|
          spawn.call { 2_000.times { call.call && calls += 1 unless turns > 10 } }
          spawn.call { 12.times { (sleep 0) && turns += 1 } }
        end
        assert_operator turns, :>, 10
        assert_operator calls, :<, 2_000, "the call kept the others out until it was done"
      end
    end

    test "sockets opened and closed over and over, their descriptors used anew, under #{name}" do
      __send__(runner) do |spawn|
        spawn.call do
          100.times do
            pull, push = connected_pair(:PULL, :PUSH)
            spawn.call { push.send("x") }
            assert_equal "x", pull.recv(timeout: 5)
            [pull, push].each(&:close)
            IO.pipe.each(&:close)
          end
        end
      end
    end
  end

  # The thread ends, and its fiber is never resumed. GC then releases the fiber's waiter.
  test "a fiber left behind by its thread leaves the socket usable and closable" do
    pull, push = connected_pair(:PULL, :PUSH)
    5.times { leave_fiber_behind(pull) }
    push.send("x")
    assert_equal "x", pull.recv(timeout: 5)
    waiter = in_thread { pull.recv(timeout: 10) }
    until_waiting(pull)
    push.send("y")
    assert_equal "y", waiter.value
    collect
    push.send("z")
    assert_equal "z", pull.recv(timeout: 5)
    leave_fiber_behind(pull)
    port = pull.port
    pull.close
    assert pull.closed?
    assert eventually("the fiber left behind keeps the socket") { collect || free?(port) }
  end

  test "a fiber left behind with a wake-up does not keep it" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    leave_fiber_behind(pull)
    waiter = in_thread { pull.recv }
    until_waiting(pull)
    push.send("x")
    pull.events # consumes the edge, and wakes the fiber left behind
    # When GC frees the fiber left behind, the waiter of the thread gets that fiber's wake-up.
    assert eventually("the wake-up went with the fiber") { collect || waiter.join(0) }
    assert_equal "x", waiter.value
  end

  private

  def run_async
    Sync do |task|
      tasks = []
      yield ->(&block) { tasks << task.async(&block) }
      tasks.shift.wait until tasks.empty?
    end
  end

  def run_tiny
    Tiny.thread do |scheduler|
      yield ->(&block) { Fiber.schedule(&block) }
      scheduler.run
    end.join
  end

  def free?(port)
    TCPServer.new("127.0.0.1", port).close
    true
  rescue Errno::EADDRINUSE
    false
  end

  def leave_fiber_behind(socket)
    thread = Tiny.thread do |scheduler|
      scheduler.careless = true
      Fiber.schedule { socket.recv }
    end
    assert thread.join(5)
  end

  # Runs GC in another thread and in this one, a little deeper in the stack each time: an old value
  # on the stack may still reference the fiber.
  def collect
    Thread.new { GC.start }.join
    @depth = (@depth.to_i + 1) % 32
    collect_at(@depth)
    false
  end

  def collect_at(depth)
    depth.zero? ? GC.start : [0, 0].inject { collect_at(depth - 1) }
  end
end
