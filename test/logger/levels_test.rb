# frozen_string_literal: true

require_relative "logs"

# Levels for a block, or for a thread, as ActiveSupport's loggers have them, without ActiveSupport,
# whose isolation_level would decide: in a process of its own. The rest: active_support_test.rb.
class LoggerLevelsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  test "a level holds for its thread and fiber" do
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
end
