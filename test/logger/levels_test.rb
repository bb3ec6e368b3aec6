# frozen_string_literal: true

require "stringio"
require_relative "logs"

# Levels for a block, or for a thread, as ActiveSupport's loggers have them, without ActiveSupport.
# active_support_test.rb compares the two, with an endpoint.
class LoggerLevelsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  test "with an IO: silence, log_at and local_level=, until the block ends, also when it raises" do
    out = StringIO.new
    log = Godwit::Logger.new(out)
    value = log.silence do |inner|
      inner.warn("silent")
      log.error("error")
      log.silence(:fatal) { log.error("silent") && log.fatal("fatal") }
      log.silence(Logger::DEBUG) { log.debug("debug") }
      [inner, log.level, log.warn?, log.error?]
    end
    assert_equal [log, Logger::ERROR, false, true], value
    assert_raises(IOError) { log.silence { raise IOError } }
    assert_equal [nil, Logger::DEBUG], [log.local_level, log.level]
    log.level = :fatal
    assert_equal :value, log.log_at(:info) { log.info("info") && log.debug("no") && :value }
    log.local_level = :warn
    log.level = :error
    log.warn("warn")
    assert_equal [Logger::WARN, Logger::WARN], [log.local_level, log.level]
    log.local_level = nil
    log.warn("no")
    assert_equal %w[error fatal debug info warn],
      out.string.lines.map { |line| line[/ -- : (.*)/, 1] }
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
