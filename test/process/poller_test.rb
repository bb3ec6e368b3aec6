# frozen_string_literal: true

require "test_helper"
require_relative "forking"

# A poller at a fork, in signal handlers and at exit.
class PollerProcessTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  POLLING = <<~RUBY
    pull, push = pair
    out, into = IO.pipe
    poller = Godwit::Poller.new(pull, out)

    def assert_ready(poller, pull, push)
      push.send("x")
      abort "the poller was disturbed" unless poller.wait(5).map(&:object) == [pull]
      pull.recv
      abort "too much" unless poller.wait(0).empty?
      true
    end
  RUBY

  test "every call on an inherited poller raises ForkedError, the child makes its own, the " \
    "parent notices nothing" do
    assert_done <<~RUBY
      #{POLLING}
      assert_ready(poller, pull, push)
      10.times do
        in_child do
          calls = [
            -> { poller.wait }, -> { poller.wait(0) }, -> { poller.register(into, :writable) },
            -> { poller.modify(out, :readable) }, -> { poller.remove(out) },
            -> { poller.events(out) }, -> { poller.size }, -> { poller.to_a }, -> { poller.close }
          ]
          calls.each { |call| forked(&call) }
          abort unless poller.inspect.include?("of another process")
          forked { Godwit::Poller.new(pull) }
          mine = pair
          own = Godwit::Poller.new(mine.first, out)
          assert_ready(own, *mine)
          poller = pull = push = nil
          3.times do
            GC.start
            GC.compact
          end
          assert_ready(own, *mine)
        end
        assert_ready(poller, pull, push)
      end
      Godwit::Poller.new(pull) { |inner| Process.wait(fork {}) || assert_ready(inner, pull, push) }
    RUBY
  end

  # A child holds the descriptors: closing them does not take them out of an epoll.
  test "sockets and IOs that the parent closes while a child lives are gone from its poller" do
    assert_done <<~RUBY
      epolls = -> {
        Dir.each_child("/proc/self/fd").select do |fd|
          (File.readlink("/proc/self/fd/\#{fd}") rescue nil) == "anon_inode:[eventpoll]"
        end
      }
      first = pair # libzmq's threads, each with an epoll
      libzmqs = epolls.call
      #{POLLING}
      ours = epolls.call - libzmqs
      abort "not one epoll: \#{ours}" unless ours.size == 1
      watched = -> { File.read("/proc/self/fdinfo/\#{ours.first}").scan(/^tfd:/).size }
      gate, open_gate = IO.pipe
      child = fork { open_gate.close; gate.read; exit!(0) }
      into << "x"
      out.close
      poller.remove(out)
      assert_ready(poller, pull, push)
      children = [child]
      kept = watched.call
      counts = Array.new(10) do
        extra = pair
        poller.register(extra.first)
        assert_ready(poller, *extra)
        children << fork { open_gate.close; gate.read; exit!(0) }
        extra.last.send("left")
        extra.first.wait_readable(5)
        extra.first.close
        poller.remove(extra.first)
        extra.last.close
        watched.call
      end
      abort "it keeps what was closed: \#{counts}" unless counts.uniq == [kept]
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      abort "what?" unless poller.wait(0.3).empty?
      abort "it spins" if Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before > 0.15
      assert_ready(poller, pull, push)
      open_gate.close
      children.each { |pid| Process.wait(pid) }
    RUBY
  end

  test "fork while threads and fibers wait on a poller" do
    assert_done(<<~RUBY, env: {"MALLOC_PERTURB_" => "165"})
      require "./test/support/tiny_scheduler"
      #{POLLING}
      threads = Array.new(3) { Thread.new { poller.wait.map(&:object) } }
      fibers = Thread.new do
        got = []
        Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
        3.times { Fiber.schedule { got << poller.wait.map(&:object) } }
        Fiber.scheduler.run
        got
      end
      until_waiting(poller, 6)
      10.times do
        in_child do
          threads = fibers = nil
          3.times { GC.start; GC.compact; Array.new(1000) { Object.new } }
          GC.verify_compaction_references(toward: :empty)
          forked { poller.wait }
        end
      end
      push.send("x")
      all = threads.map(&:value) + fibers.value
      abort all.inspect unless all == [[pull]] * 6
    RUBY
  end

  [true, false].each do |alone|
    test "a fork in a trap handler while the main thread waits on a " \
      "poller#{", with other threads" unless alone}" do
      not_on :ffi, "a child that a trap handler forks stays in the interrupted wait"
      assert_done <<~RUBY
        #{POLLING}
        other = Thread.new { sleep } unless #{alone}
        child = nil
        parent = Process.pid
        trap(:USR1) do
          child = fork
          Thread.new { sleep(5); exit!(3) } unless child
        end
        when_waiting(poller) { Process.kill(:USR1, parent) }
        begin
          ready = poller.wait(20).map(&:object)
          Process.pid == parent or exit!(4)
        rescue Godwit::ForkedError
          exit!(5) if Process.pid == parent
          into.syswrite("x") # only now the parent's wait ends
          exit!(0)
        end
        _, status = Process.wait2(child)
        abort "the child ended with \#{status}" unless status.success?
        abort "not reported: \#{ready}" unless ready == [out]
        out.readpartial(1)
        assert_ready(poller, pull, push)
        other&.kill
      RUBY
    end
  end

  test "a trap handler registers, sends, and closes the poller that the main thread waits on" do
    assert_done <<~RUBY
      #{POLLING}
      second = pair
      trap(:USR1) { second.last.send("x"); poller.register(second.first) }
      when_waiting(poller) { Process.kill(:USR1, Process.pid) }
      abort "not reported" unless poller.wait(5).map(&:object) == [second.first]
      second.first.recv
      trap(:USR1) { poller.close }
      when_waiting(poller) { Process.kill(:USR1, Process.pid) }
      begin
        poller.wait(5)
        abort "it waited on"
      rescue Godwit::ClosedError
        nil
      end
    RUBY
  end

  test "a process ends while threads and fibers wait on pollers" do
    assert_done <<~RUBY
      require "./test/support/tiny_scheduler"
      ends_while_all_wait do
        #{POLLING}
        Thread.new { poller.wait }
        Thread.new {
          Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
          Fiber.schedule { poller.wait }
          Fiber.scheduler.run
        }
        {poller => 2}
      end
    RUBY
  end
end
