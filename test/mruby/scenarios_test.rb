# frozen_string_literal: true

require "open3"
require_relative "support/mruby_case"

# The scenarios of test/conformance/plain on mruby. One run of the interpreter executes all of them,
# and each test checks one line of its output. `rake mruby:long` names another interpreter.
class ScenariosTest < MRubyCase
  FILES = [
    "test/conformance/plain/support/helpers.rb",
    *Dir.glob("test/conformance/plain/*.rb", base: ROOT).sort
  ].freeze

  deadline 3600 # seconds: AddressSanitizer and GC at each allocation are slow

  class << self
    # @return [Array(Array<String>, String, Process::Status)] the lines that the interpreter
    #   printed, its errors, and how it ended
    def interpret(action)
      program = ENV["GODWIT_MRUBY_INTERPRETER"] || "#{built}/mruby-godwit"
      output, errors, status =
        Open3.capture3(program, "test/mruby/plain.rb", action, *FILES, chdir: MRubyBuild::ROOT)
      [output.lines(chomp: true), errors, status]
    end

    def run_all = @run_all ||= interpret("run")

    # @return [Hash{String => String}] scenario => its result. The default, for a scenario without a
    #   result, is the last printed line and the errors.
    def results
      @results ||= begin
        lines, errors = run_all
        results = lines.grep(/\t/).to_h { |line| line.split("\t", 2) }
        results.default = "no result: #{lines.last} #{errors}"
        results
      end
    end
  end

  (MISSING ? [] : interpret("list").first).each do |name|
    test(name) do
      result = self.class.results[name]
      assert result.start_with?("ok "), result
      self.assertions += result.delete_prefix("ok ").to_i - 1
    end
  end

  test "the run ends with success, and prints nothing else" do
    lines, errors, status = self.class.run_all
    assert status.success?, "#{status}: #{errors}"
    assert_empty lines.grep_v(/\tok \d+$/)
    assert_empty errors
  end
end
