# frozen_string_literal: true

require_relative "logs"

# What a logger costs its program when nobody reads (F4), and when the queue is at its bound (F16).
class LoggerCostTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  deadline 60

  MOST_MEGABYTES = 20
  # `rake logger:long` makes it a million.
  CALLS = ENV.fetch("GODWIT_TEST_CALLS", 100_000).to_i
  MOST_SECONDS = 50e-6

  test "nobody reads, many calls: memory stays flat and small, a call is short, the end comes in time and counts them" do
    not_on :jruby, "its memory is Java's"
    not_on :ffi, "the gem ffi takes memory of its own"
    percentiles = []
    endings = []
    at_one_try do # each bound at one of the tries
      result = assert_child(run_child(<<~RUBY, deadline: 40))
        def rss = File.read("/proc/self/status")[/VmRSS:\\s+(\\d+)/, 1].to_i
        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        bare = rss
        require "godwit"
        text = "x" * 100
        _ = Godwit::Logger # its at_exit comes after ours, so it runs before
        at_exit { puts now - $end }
        log = Godwit::Logger.new("ipc://#{scratch_dir}/nobody", linger: 0.2)
        log = log.tagged("req-9")
        call = ->(number) { log.info(text, user: number, amount: "12.5") }
        100_000.times(&call)
        full = rss
        #{CALLS}.times(&call)
        flat = rss - full
        most = rss - bare
        took = Array.new(10_000) { |number| start = now; call.call(number); now - start }
        p log.stats.dropped + log.stats.queued, most, flat, took.sort[9_900]
        $end = now
      RUBY
      calls, most, flat, percentile, ending = result.stdout.lines.map { |line| Float(line) }
      assert_equal CALLS + 110_000, calls
      assert_operator most, :<, MOST_MEGABYTES * 1024
      assert_operator flat, :<, 2048
      left = result.stderr[/: (\d+) records not sent\n\z/, 1].to_i
      assert_operator left, :>, 10_000, result.stderr
      assert_operator ending, :>=, 0.2
      (percentiles << percentile).min < MOST_SECONDS && (endings << ending).min < 0.4
    end
  end
end
