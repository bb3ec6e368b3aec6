# frozen_string_literal: true

require "test_helper"
require_relative "../../rakelib/support/ruby_logger_tests"

# The tests that Ruby has of its own Logger hold for Godwit's. See ruby/run.rb for the three forms,
# ruby/exclusions.yml for the exceptions.
class RubyLoggerTest < Godwit::TestCase
  # How many there are at least, so that a run which finds none is no success.
  LEAST = {"local" => 50, "plain" => 17, "records" => 12}.freeze

  LEAST.each do |form, least|
    test "Ruby's own tests of Logger, #{form}" do
      not_on :jruby, "the test framework of Ruby's own tests requires CRuby"
      result = run_child("test/logger/ruby/run.rb", [folder, form])
      assert_child result
      ran, failed = result.stdout
        .match(/^(\d+) tests, \d+ assertions, (\d+ failures, \d+ errors, \d+ skips)$/)&.captures
      assert_equal "0 failures, 0 errors, 0 skips", failed, result.to_s
      assert_operator ran.to_i, :>=, least, result.to_s
      refute_match(/Exception in finalizer|terminated with exception/, result.stderr)
    end
  end

  private

  # Asked once: without a network it takes a while to say no.
  def folder
    @@folder ||= begin # standard:disable Style/ClassVars -- of this class alone
      Godwit::RubyLoggerTests.fetch
    rescue Godwit::DebianSource::Failure => error
      error
    end
    @@folder.is_a?(String) ? @@folder : skip("no source of Ruby's tests: #{@@folder.message}")
  end
end
