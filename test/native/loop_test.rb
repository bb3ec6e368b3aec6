# frozen_string_literal: true

require "test_helper"
require "support/interrupts"

# A Godwit::Loop whose methods are interrupted at each line.
class NativeLoopTest < Godwit::TestCase
  include Godwit::TestSupport::Interrupts

  LINES = %r{lib/godwit/(loop|timers)}

  # Timeout and Ctrl-C may interrupt a method at any line. This test does so at each line in turn.
  test "an interrupt during a register or remove leaves a loop that can be repaired, and does " \
    "not spin" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push.send("x")
    {"registering" => ->(loop) { loop.readable(pull) {} },
     "removing" => ->(loop) { loop.remove(pull) }}.each do |name, change|
      at_each_line(%r{lib/godwit/(loop|poller)}, least: 5) do |interrupted|
        Godwit::Loop.new do |loop|
          loop.readable(pull) {} if name == "removing"
          again = interrupted.call { change.call(loop) }
          calls = 0
          loop.remove(pull)
          loop.readable(pull) { |socket| (calls += 1) == 3 && loop.remove(socket) }
          assert_equal :empty, loop.run
          assert_equal 3, calls, name
          loop.after(0.005) {}
          turns = loop.instance_variable_get(:@turn)
          loop.run
          turns = loop.instance_variable_get(:@turn) - turns
          assert_operator turns, :<, 20, name
          again
        end
      end
    end
  end

  test "an interrupt between a change and the wake-up leaves no loop asleep" do
    at_each_line(LINES, least: 5) do |interrupted|
      Godwit::Loop.new do |loop|
        running = running(loop)
        again = [interrupted.call { loop.post {} }, interrupted.call { loop.after(0) {} }]
        eventually { loop.empty? }
        again << interrupted.call { loop.stop }
        loop.stop unless loop.instance_variable_get(:@stopping) # the interrupt preceded the stop
        assert_equal :stopped, running.value
        again.any?
      end
    end
  end

  test "an interrupt as the last object is removed, or the loop closed, leaves no loop asleep" do
    pull = open_socket(:PULL)
    at_each_line(LINES, least: 5) do |interrupted|
      Godwit::Loop.new do |loop|
        loop.readable(pull) {}
        running = running(loop, forever: false)
        again = interrupted.call { loop.remove(pull) }
        loop.remove(pull) unless loop.empty?
        assert_equal :empty, running.value
        again
      end
      loop = Godwit::Loop.new
      running = running(loop)
      again = interrupted.call { loop.close }
      loop.close
      assert_equal :stopped, running.value
      again
    end
  end

  test "an interrupt during run's end leaves a loop that runs again" do
    Godwit::Loop.new do |loop|
      lines = 0
      trace = TracePoint.new(:line) do |point|
        Thread.current.raise(Stop) if point.method_id == :release && (lines += 1) == 2
      end
      assert_raises(Stop) { trace.enable { loop.run } }
      refute loop.running?
      assert_equal :empty, loop.run
    end
  end

  private

  def running(loop, forever: true)
    in_thread { loop.run(forever: forever) }.tap { until_waiting(loop) }
  end
end
