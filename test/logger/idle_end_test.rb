# frozen_string_literal: true

require "test_helper"

# Unclosed loggers at the end of the process.
class LoggerIdleEndTest < Godwit::TestCase
  test "loggers that never logged end with the process, without a word" do
    result = run_child(<<~RUBY)
      require "godwit"
      5.times { Godwit::Logger.new("tcp://127.0.0.1:9") }
    RUBY
    assert_child result
    assert_empty result.stderr
  end

  test "loggers that have logged, and a reader in the same process, end with it, without a word" do
    result = run_child(<<~RUBY)
      require "godwit"
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      Thread.new { pull.each { |message| } }
      5.times { Godwit::Logger.new(pull.last_endpoint).tap { |log| log.info("x") }.flush }
    RUBY
    assert_child result
    assert_empty result.stderr
  end
end
