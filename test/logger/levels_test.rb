# frozen_string_literal: true

require_relative "logs"

# Levels for a block or for a thread, as ActiveSupport's loggers have them. Separate processes run
# these tests, since a loaded ActiveSupport would choose between thread and fiber.
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
