# frozen_string_literal: true

require "test_helper"
require "logger/logs"
require "support/timed"

# How long a logger delays its callers, and the end of its process.
class LoggerTimingTest < Godwit::TestCase
  include Godwit::TestSupport::Logs
  include Godwit::TestSupport::Timed

  MAX_SECONDS = 50e-6

  # A process that logs without a reader: name => [seconds until the process ends, its program].
  {
    "within linger and 0.3 s" => [0.49..0.5 + 0.3, <<~RUBY],
      Godwit::Logger.new(nowhere, linger: 0.5).info("x")
    RUBY
    "within linger and 0.3 s, durable" => [0.49..0.5 + 0.3, <<~RUBY],
      Godwit::Logger.new(nowhere, linger: 0.5, durable: folder).info("x")
    RUBY
    "after one linger for several loggers" => [0.99..1 + 0.5, <<~'RUBY'],
      5.times { |number| Godwit::Logger.new("#{nowhere}#{number}", linger: 1).info("x") }
    RUBY
    "after one linger with a thread that logs on" => [0.99..1 + 0.5, <<~RUBY]
      log = Godwit::Logger.new(nowhere, linger: 1)
      Thread.new { loop { log.info("x") && sleep(0.001) } }
      Thread.pass until log.stats.queued > 50
    RUBY
  }.each do |how, (seconds, source)|
    test "without a reader a process ends #{how}" do
      values = "nowhere, folder = #{nowhere.dump}, #{"#{scratch_dir}/durable".dump}\n"
      assert_ends_within(seconds, "$stderr.reopen(File::NULL)\n#{values}#{source}")
    end
  end

  test "a caller waits for block_timeout: and linger:, without a reader and with a stalled " \
    "reader" do
    stuck = open_socket(:PULL, recv_hwm: 1, recv_buffer_size: 4096).bind(endpoint_for(:tcp))
    options = {overflow: :block, block_timeout: 0.3, queue: 10, linger: 0.5, send_hwm: 1}
    [nowhere, stuck.last_endpoint].each do |endpoint|
      log = logger(endpoint, **options)
      may_lose
      log.info("x" * 10_000) until log.stats.dropped.positive?
      assert_includes 0.29..0.4, median(3) { seconds { log.info("x") } }, endpoint
      capture_io { assert_includes 0.45..0.8, seconds { log.close }, endpoint }
    end
  end

  test "a call costs little without a reader and with a full queue" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      log = Godwit::Logger.new("#{nowhere}", linger: 0).tagged("req-9")
      100_000.times { log.info("x" * 100, user: 1, amount: "12.5") }
      took = Array.new(10_000) do
        start = now
        log.info("x" * 100, user: 1, amount: "12.5")
        now - start
      end
      p took.sort[9_900]
    RUBY
    assert_operator Float(result.stdout), :<, MAX_SECONDS
  end

  test "a full queue delays a caller for half a second at most, and a stalled socket not at all" do
    pull = open_socket(:PULL, recv_hwm: 10).bind(endpoint_for(:inproc))
    log = logger(pull.last_endpoint, queue: 10, send_hwm: 10, context: context, linger: 0)
    may_lose
    queue = log.instance_variable_get(:@handle).current.queue
    longest = 0
    call = -> { longest = [longest, seconds { log.info("x") }].max }
    call.call until log.stats.dropped.positive?
    assert_includes 0.2..0.5 + 0.2, longest
    eventually { call.call && queue.unresponsive? }
    assert_operator longest, :<, 0.5 + 0.2
    assert_operator seconds { 1_000.times { log.info("x") } }, :<, 1
  end
end
