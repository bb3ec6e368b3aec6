# frozen_string_literal: true

require "test_helper"
require_relative "../../rakelib/support/ruby_logger_tests"

# Ruby's own tests of its Logger pass with a Godwit::Logger that writes to an IO. drop_in_test.rb
# compares Ruby's Logger with a Godwit::Logger that sends to an endpoint.
class RubyLoggerTest < Godwit::TestCase
  # The least number of Ruby's tests that must run: a run that finds no tests must fail.
  LEAST = 50

  test "Ruby's own tests of Logger" do
    not_on :jruby, "the test framework of Ruby's own tests requires CRuby"
    begin
      folder = Godwit::RubyLoggerTests.fetch
    rescue Godwit::DebianSource::Failure => error
      skip "no source of Ruby's tests: #{error.message}"
    end
    result = assert_child run_child("test/logger/ruby/run.rb", [folder])
    ran, failed = result.stdout
      .match(/^(\d+) tests, \d+ assertions, (\d+ failures, \d+ errors, \d+ skips)$/)&.captures
    assert_equal "0 failures, 0 errors, 0 skips", failed, result.to_s
    assert_operator ran.to_i, :>=, LEAST, result.to_s
    refute_match(/Exception in finalizer|terminated with exception/, result.stderr)
  end
end
