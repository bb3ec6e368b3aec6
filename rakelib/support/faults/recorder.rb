# frozen_string_literal: true

require "json"

module Faults
  # Loaded after the test files. GW_REACHED names a file that gets a line for each test: its name,
  # its file, its seconds, the faults whose lines it reached. Without it, the first failure ends the
  # process.
  class Recorder < Minitest::AbstractReporter
    SWITCH = ENV.fetch("GW_SWITCH")
    CELLS = 2_048

    # What loading reaches belongs to all tests of the files.
    def start = (note if ENV["GW_REACHED"])

    def record(result)
      if ENV["GW_REACHED"]
        file = Object.const_source_location(result.klass).first.delete_prefix("#{Dir.pwd}/")
        note(file: file, name: "#{result.klass}##{result.name}", seconds: result.time,
          passed: result.passed?)
      elsif !result.passed? && !result.skipped?
        puts "", "found by #{result.klass}##{result.name}"
        $stdout.flush
        exit!(1)
      end
    end

    private

    def note(**test)
      cells = File.binread(SWITCH).unpack("S*")
      File.binwrite(SWITCH, [0].pack("S") * CELLS, 0)
      faults = cells.each_index.reject { |number| cells[number].zero? }
      File.write(ENV["GW_REACHED"], "#{JSON.generate({**test, faults: faults})}\n", mode: "a")
    end
  end
end

Minitest.extensions << "faults"
Minitest.define_singleton_method(:plugin_faults_init) { |_| reporter << Faults::Recorder.new }
