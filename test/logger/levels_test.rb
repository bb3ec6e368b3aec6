# frozen_string_literal: true

require "stringio"
require_relative "logs"

# Levels for a block, or for a thread, as ActiveSupport's loggers have them, without ActiveSupport.
# active_support_test compares the two.
class LoggerLevelsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  # A logger with an endpoint and one with an IO, and what gives their texts.
  def each_logger
    yield logger, ->(count) { records(count).map(&:text) }
    out = StringIO.new
    yield Godwit::Logger.new(out), ->(_) { out.string.lines.map { |line| line[/ -- : (.*)/, 1] } }
  end

  test "silence: only errors, or what is wanted, until the block ends" do
    each_logger do |log, texts|
      value = log.silence do |inner|
        inner.warn("silent")
        log.error("error")
        log.silence(:fatal) { log.error("silent") && log.fatal("fatal") }
        log.silence(Logger::DEBUG) { log.debug("debug") }
        log.warn("silent")
        [inner, log.level, log.warn?, log.error?]
      end
      assert_equal [log, Logger::ERROR, false, true], value
      assert_raises(IOError) { log.silence { raise IOError } }
      log.debug("again")
      assert_equal [nil, Logger::DEBUG], [log.local_level, log.level]
      assert_equal %w[error fatal debug again], texts.call(4)
    end
  end

  test "log_at and local_level= go below the logger's level too" do
    each_logger do |log, texts|
      log.level = :fatal
      assert_equal :value, log.log_at(:info) { log.info("info") && log.debug("no") && :value }
      log.local_level = :warn
      log.warn("warn")
      assert_equal [Logger::WARN, Logger::WARN], [log.local_level, log.level]
      log.level = :error
      log.warn("still")
      log.local_level = nil
      log.warn("no")
      log.error("error")
      assert_equal %w[info warn still error], texts.call(4)
    end
  end

  # In a process of its own: beside ActiveSupport its isolation_level would decide.
  test "it holds for its thread and fiber" do
    assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT)
      log.silence do
        Thread.new { log.info("thread") && log.local_level = :fatal }.join
        Fiber.new { log.info("fiber") }.resume
        log.info("silent")
      end
      log.info("end")
      abort("ActiveSupport is here") if defined?(ActiveSupport)
    RUBY
    assert_equal %w[thread fiber end], records(3).map(&:text)
  end

  test "a logger with tags shares it; another logger does not" do
    log = logger
    other = logger
    tagged = log.tagged("a")
    log.silence { [tagged, log, other].each { |one| one.info("info") } }
    tagged.silence { log.info("silent") }
    log.info("end")
    assert_equal %w[end info], records(2).map(&:text).sort # of two writers
  end

  test "what is no level is refused, and changes nothing" do
    log = logger
    [:loud, "error", 1.5, Object.new].each do |odd|
      [-> { log.local_level = odd }, -> { log.silence(odd) { flunk } },
        -> { log.log_at(odd) { flunk } }].each do |call|
        error = assert_raises(ArgumentError, odd.inspect, &call)
        assert_match(/\AInvalid log level: /, error.message)
      end
    end
    log.local_level = 7
    assert_equal 7, log.level
    log.local_level = nil
    assert_equal 0, log.level
  end
end
