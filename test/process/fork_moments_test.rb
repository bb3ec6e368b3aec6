# frozen_string_literal: true

require "test_helper"
require_relative "forking"
require "native/shim/shim"

# A fork while other threads wait, close a context or hold a lock, and in the middle of a wait. The
# child must not hang, and must leave inherited sockets alone (laws 5 and 7).
class ForkMomentsTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  test "a child does not wait for a context that its parent was ending" do
    assert_done <<~RUBY
      ending = Godwit::Context.new(linger: 1000)
      Godwit::PUSH.connect("tcp://127.0.0.1:1", context: ending).send("never")
      closer = Thread.new { ending.close }
      Thread.pass until ending.closed?
      Process.wait(fork { exit(0) })
      puts "done"
      exit!(0)
    RUBY
  end

  # A lock that another thread holds at the fork would stay locked in the child for ever. The end of
  # a context searches the list of contexts under a lock: with many contexts the search takes long.
  test "a fork at the moment in which other threads end their contexts" do
    assert_done <<~RUBY
      Process.setrlimit(:NOFILE, [Process.getrlimit(:NOFILE).last, 4096].min)
      stop = false
      threads = Array.new(4) do
        Thread.new do
          contexts = Array.new(200) { Godwit::Context.new }
          closed = 0
          until stop
            (contexts << Godwit::Context.new).shift.close
            # A closed context holds a descriptor until it is collected, also in each child.
            GC.start if ((closed += 1) % 100).zero?
          end
          contexts.each(&:close)
        end
      end
      Thread.pass until ObjectSpace.each_object(Godwit::Context).count > 800
      #{Godwit::TestSupport::Length.of(12, long: 100)}.times do
        in_child { Godwit::Context.new.close.nil? }
      end
      stop = true
      threads.each(&:join)
    RUBY
  end

  # The trap handler runs when `recv` checks for interrupts, just before it waits.
  test "a fork in a trap handler just before the main thread would wait" do
    assert_done(<<~RUBY, env: Godwit::TestSupport::Shim.windows)
      require "./test/native/shim/windows"
      [true, false].each do |alone|
        pull, push = pair
        other = Thread.new { sleep } unless alone
        parent = Process.pid
        status = nil
        trap(:USR1) do
          next unless (pid = fork)
          status = Process.wait2(pid).last
          push.send("x") # after the child's end: the message would wake the child too
        end
        Windows.signal("USR1")
        begin
          pull.recv
          Process.pid == parent or exit!(4)
        rescue Godwit::ForkedError
          exit!(Process.pid == parent ? 5 : 0)
        end
        abort "\#{alone}: the child ended with \#{status}" unless status.success?
        other&.kill
      end
    RUBY
  end

  test "a waiting fiber, woken in a child that keeps the scheduler" do
    assert_done <<~RUBY
      require "./test/support/tiny_scheduler"
      pull, push = pair
      thread = Thread.new do
        Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
        outcome = nil
        Fiber.schedule { outcome = (pull.recv rescue $!.class) }
        pid = fork
        unless pid
          Thread.new { sleep(5); exit!(3) }
          # The parent's message makes the shared descriptor readable in the child too.
          Fiber.scheduler.run_once until outcome
          exit!(outcome == Godwit::ForkedError ? 0 : 4)
        end
        push.send("x")
        _, status = Process.wait2(pid)
        abort "the child ended with \#{status}" unless status.success?
        Fiber.scheduler.run
        outcome
      end
      abort thread.value.inspect unless thread.value == "x"
    RUBY
  end
end
