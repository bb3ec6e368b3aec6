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

  # @return [Array(Array<String>, String)] the lines that the interpreter printed, its errors
  def self.interpret(action)
    output, errors, =
      Open3.capture3(PROGRAM, "test/mruby/plain.rb", action, *FILES, chdir: ROOT)
    [output.lines(chomp: true), errors]
  end

  # @return [Hash{String => String}] name and result of each scenario, or what else was printed
  def self.results
    @results ||= begin
      lines, errors = interpret("run")
      results = lines.grep(/\t/).to_h { |line| line.split("\t", 2) }
      results.default = "no result: #{lines.last} #{errors}"
      results
    end
  end

  interpret("list").first.each do |name|
    test(name) do
      result = self.class.results[name]
      assert result.start_with?("ok "), result
      self.assertions += result.delete_prefix("ok ").to_i - 1
    end
  end
end
