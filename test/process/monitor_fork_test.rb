# frozen_string_literal: true

require "test_helper"
require_relative "forking"

# A Monitor in a forked child.
class MonitorForkTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  test "a child's calls raise ForkedError, its collector leaves the Monitor alone, and the " \
    "parent reads on" do
    assert_done <<~RUBY
      pull = Godwit::PULL.new
      monitor, other = pull.monitor, pull.monitor
      thread = pull.on_event { }
      pull.bind("tcp://127.0.0.1:*")
      in_child do
        forked { monitor.next_event }
        forked { monitor.next_event(timeout: 1) }
        forked { monitor.recv_nonblock }
        forked { monitor.each { } }
        forked { monitor.close }
        forked { monitor.pipes_stats }
        forked { pull.monitor }
        forked { pull.on_event { } }
        monitor.inspect
        monitor = other = pull = nil
        3.times { GC.start; GC.compact }
        mine = Godwit::PULL.new
        mine.monitor.tap { mine.bind("tcp://127.0.0.1:*") }.next_event(timeout: 5).name ==
          :listening
      end
      raise "no event" unless monitor.next_event(timeout: 5).name == :listening
      pull.bind("tcp://127.0.0.1:*")
      raise "no event" unless monitor.next_event(timeout: 5).endpoint == pull.last_endpoint
      pull.close
      raise "the thread goes on" unless thread.join(5)
      raise "events" unless other.map(&:name) == %i[listening listening monitor_stopped]
    RUBY
  end

  # The wait of the child's only thread, which returned from a trap handler.
  test "a child that is forked while the main thread waits for an event" do
    not_on :ffi, "a child that a trap handler forks stays in the interrupted wait"
    assert_done <<~RUBY
      pull = Godwit::PULL.new
      monitor = pull.monitor
      main = Process.pid
      child = status = nil
      trap("USR1") { child = fork }
      helper = Thread.new do
        until_waiting(monitor)
        Process.kill(:USR1, main)
        Thread.pass until child
        _, status = Process.wait2(child)
        pull.bind("tcp://127.0.0.1:*") # only now the parent's wait ends
      end
      begin
        event = monitor.next_event(timeout: 20)
        exit!(1) unless Process.pid == main
      rescue Godwit::ForkedError
        exit!(Process.pid == main ? 2 : 0)
      rescue Godwit::TimeoutError
        exit!(3)
      end
      helper.join
      raise "the child gave \#{status}" unless status.success?
      raise "no event" unless event.name == :listening
    RUBY
  end
end
