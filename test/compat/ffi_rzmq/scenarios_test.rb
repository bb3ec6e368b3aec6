# frozen_string_literal: true

require_relative "ffi_rzmq_case"

# Programs for ffi-rzmq print the same with the gem and with Godwit's layer.
class FFIRzmqScenariosTest < FFIRzmqCase
  SCENARIOS =
    Dir.children("#{__dir__}/scenarios").grep_v(/prelude|run/)
      .map { |file| File.basename(file, ".rb") }
      .sort
      .freeze
  PRINTED = {} # runtime => output; each runtime runs the scenarios once

  RUNTIMES.each do |runtime, why_not|
    SCENARIOS.each do |scenario|
      test "#{scenario} on #{runtime}" do
        skip why_not if why_not
        assert_operator printed(:gem).fetch(scenario).lines.size, :>, 5
        assert_equal printed(:gem).fetch(scenario), printed(runtime).fetch(scenario)
      end
    end
  end

  private

  # @return [Hash{String => String}] each scenario's output
  def printed(runtime)
    result =
      PRINTED[runtime] ||= run_old("test/compat/ffi_rzmq/scenarios/run.rb", SCENARIOS, on: runtime)
    assert_child(result).stdout.split(/^== (.*)\n/).drop(1).each_slice(2).to_h
  end
end
