# frozen_string_literal: true

require_relative "logs"

# The memory of a logger without a reader, also when its queue is full.
class LoggerCostTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  MAX_MEGABYTES = 20
  # `rake logger:long` sets 900,000.
  CALLS = ENV.fetch("GODWIT_TEST_CALLS", 100_000).to_i

  test "no reader, many calls: memory stays flat and small, and the end counts them" do
    not_on :jruby, "its memory is Java's"
    not_on :ffi, "the gem ffi has its own memory"
    result = assert_child(run_child(<<~RUBY))
      def rss = File.read("/proc/self/status")[/VmRSS:\\s+(\\d+)/, 1].to_i
      bare = rss
      require "godwit"
      text = "x" * 100
      log = Godwit::Logger.new("ipc://#{scratch_dir}/nobody", linger: 0.2)
      log = log.tagged("req-9")
      call = ->(number) { log.info(text, user: number, amount: "12.5") }
      100_000.times(&call)
      full = rss
      #{CALLS}.times(&call)
      p log.stats.dropped + log.stats.queued, rss - bare, rss - full
    RUBY
    calls, most, more = result.stdout.lines.map { |line| Integer(line) }
    assert_equal CALLS + 100_000, calls
    assert_operator most, :<, MAX_MEGABYTES * 1024
    assert_operator more, :<, 2048
    counted = result.stderr[/: (\d+) records not sent; connection refused at .*\n\z/, 1].to_i
    assert_operator counted, :>, 10_000, result.stderr
  end
end
