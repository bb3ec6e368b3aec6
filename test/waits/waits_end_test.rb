# frozen_string_literal: true

require "test_helper"
require "support/wait_endings"

# Every ending ends a wait of a socket, a Loop, a Reader and a Stream; then the object can be used
# or closed. The calls of KINDS are tested with each ending, each other call with one ending that
# the seed chooses. How soon a wait ends: test/timing. Beacons: beacons_end_test.rb.
class WaitsEndTest < Godwit::TestCase
  include Godwit::TestSupport::WaitEndings

  Godwit::TestSupport::WaitEndings.test(self, ALL.keys, KINDS)

  # A wait that uses freed memory or the old address of an object would crash.
  test "each kind of wait goes on while the collector moves what it can" do
    calls = KINDS.map { |name| prepare(name) }
    waiters = calls.flat_map do |call|
      STARTS.values.first(call.shared? ? 2 : 1).map { |start| [call, waiting(call, start)] }
    end
    3.times do
      GC.start
      GC.compact if Godwit::TestSupport::GCLevels.compaction?
    end
    waiters.each { |call, waiter| assert waiter.alive?, call.name }
    calls.each { |call| call.object.close }
    waiters.each { |call, waiter| assert_ended(call, waiter, Godwit::ClosedError) }
  end

  test "no wait leaves a descriptor behind" do
    not_on :jruby, "Java opens files of its own"
    waits = lambda do
      KINDS.product(STARTS.values) do |name, start|
        call = prepare(name)
        waiter = waiting(call, start)
        call.object.close
        assert_ended(call, waiter, Godwit::ClosedError)
        @home.close
        [@owned, @threads].each(&:clear) # so that the collector can free the objects
      end
    end
    waits.call # opens the descriptors that stay open
    count = -> { GC.start || Dir.children("/proc/self/fd").size }
    before = count.call
    3.times { waits.call }
    eventually("#{count.call - before} descriptors are left") { count.call <= before + 5 }
  end

  # On JRuby a wait of a few milliseconds is one call of C, which no interrupt ends.
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

  # While the interrupt is deferred, the wait continues and receives the next message.
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
end
