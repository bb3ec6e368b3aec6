# frozen_string_literal: true

require "test_helper"
require "support/waiting_calls"
require_relative "forking"

# A fork while calls wait: all kinds of waits of test/support/waiting_calls.rb except a Stream's.
# A child can run an inherited Stream (test/shell/process_test.rb).
class ForkedWaitsTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  WAITS = Godwit::TestSupport::WaitingCalls::KINDS.grep_v(/Stream/)
  PRELUDE = Godwit::TestSupport::Forking::PRELUDE + <<~RUBY
    require "./test/support/waiting_calls"
    require "./test/support/tiny_scheduler"
    include Godwit::TestSupport::WaitingCalls

    # Waits in a thread; for a call with several callers also in another thread and in a fiber.
    def waiters_of(call)
      waiters = [Thread.new { call.run rescue nil }]
      if call.shared?
        waiters << Thread.new { call.run rescue nil }
        waiters << Thread.new do
          Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
          Fiber.schedule { call.run rescue nil }
          Fiber.scheduler.run
        end
      end
      until_waiting(call.waited_on, waiters.size)
      waiters
    end
  RUBY

  # MALLOC_PERTURB_ makes libc overwrite freed memory, so that a use of freed memory fails.
  test "a child collects waiters of its parent, and has its own; its parent's wait on" do
    assert_done(<<~RUBY, env: {"MALLOC_PERTURB_" => "165"})
      each_waiting_call(#{WAITS}) do |call|
        waiters = waiters_of(call)
        in_child do
          waiters = nil
          3.times { GC.start; GC.compact; Array.new(1000) { Object.new } }
          GC.verify_compaction_references(toward: :empty)
          forked { call.run }
          forked { call.object.close }
          check(*pair)
        end
        abort "the parent was disturbed" unless waiters.all?(&:alive?)
        call.object.close
        waiters.each { |waiter| waiter.join(HANG) or abort "the parent hangs" }
      end
    RUBY
  end

  # After the fork the child is still inside the call that waits. In a child every libzmq call on an
  # inherited socket returns EINTR for ever, so the call must raise ForkedError.
  [true, false].each do |alone|
    test "a fork in a trap handler while the main thread waits#{", beside another" unless alone}" do
      assert_done <<~RUBY
        Thread.new { sleep } unless #{alone}
        parent = Process.pid
        each_waiting_call(#{WAITS}) do |call|
          reader, writer = IO.pipe
          trap(:USR1) do
            if (child = fork)
              writer.syswrite("\#{Process.wait2(child).last.exitstatus.inspect}\\n")
              # After the child's end: the close would wake the child too. The close needs a
              # thread, since a handler cannot lock a Mutex.
              Thread.new { call.object.close }
            else
              Thread.new { sleep(5); exit!(3) }
            end
          end
          when_waiting(call.waited_on) { Process.kill(:USR1, parent) }
          begin
            call.run
            exit!(4) unless Process.pid == parent
          rescue Godwit::ForkedError
            exit!(Process.pid == parent ? 5 : 0)
          rescue Godwit::ClosedError
            exit!(6) unless Process.pid == parent
          end
          status = reader.gets
          abort "the child ended with \#{status}" unless status == "0\\n"
        end
      RUBY
    end
  end

  test "a process ends while threads and fibers wait on each" do
    assert_done <<~RUBY
      _, status = Process.wait2(fork do
        kept = []
        #{WAITS}.each do |name|
          call = waiting_call(name) { |type, **more| Godwit.const_get(type).new(**more) }
          kept << call << waiters_of(call)
        end
        exit(7)
      end)
      abort status.inspect unless status.exitstatus == 7
    RUBY
  end
end
