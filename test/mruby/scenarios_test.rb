# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "../../rakelib/support/mruby_build"

# The scenarios of test/conformance/plain on mruby. A test for each, whose result is a line of one
# run of the interpreter.
class ScenariosTest < Godwit::TestCase
  ROOT = MRubyBuild::ROOT
  PROGRAM = "#{MRubyBuild.new.build}/mruby-godwit".freeze
  FILES = [
    "test/conformance/plain/support/helpers.rb",
    *Dir.glob("test/conformance/plain/*.rb", base: ROOT).sort
  ].freeze

  # @return [String] what the interpreter printed
  def self.interpret(action)
    output, = Open3.capture2e(PROGRAM, "test/mruby/plain.rb", action, *FILES, chdir: ROOT)
    output
  end

  # @return [Hash{String => String}] name and result of each scenario
  def self.results
    @results ||= interpret("run").lines(chomp: true).to_h { |line| line.split("\t", 2) }
  end

  interpret("list").each_line(chomp: true) do |name|
    test(name) do
      result = self.class.results[name] || "no result: #{self.class.results.to_a.last.inspect}"
      assert result.start_with?("ok "), result
      self.assertions += result.delete_prefix("ok ").to_i - 1
    end
  end
end
