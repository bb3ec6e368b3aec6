# frozen_string_literal: true

require "json"
require "minitest"

module Godwit
  module TestSupport
    # Sends a run's outcome to bin/test: counts, seed, failures, skips with their reasons. Without
    # GODWIT_TEST_REPORT it only prints the skips and the seed at the end.
    class Report < Minitest::AbstractReporter
      # How many of the slowest tests the report prints with their times.
      SLOWEST = 20
      # Characters of each failure's text that bin/test repeats at the end of its run.
      TEXT = 1500

      def initialize(options)
        super()
        @seed = options[:seed]
        @counts = Hash.new(0)
        @details = {failures: [], skips: []}
        @times = []
        self.class.current = self
      end

      class << self
        attr_accessor :current
      end

      def prerecord(klass, name)
        return unless (path = ENV["GODWIT_TEST_NOW"])
        # The runner reads this file when the process hangs and cannot print the name of its test.
        File.write(path, "#{klass}##{name}")
      end

      def record(result)
        @times << [result.time, "#{result.klass}##{result.name}"]
        outcome = if result.skipped? then :skipped
        elsif result.passed? then :passed
        else :failed
        end
        @counts[outcome] += 1
        return if outcome == :passed
        message = result.failure.message.strip
        skipped = outcome == :skipped
        @details[skipped ? :skips : :failures] << {
          name: "#{result.klass}##{result.name}",
          text: skipped ? message.lines.first.to_s.strip : message[0, TEXT]
        }
      end

      def report
        @details[:skips].each { |skip| puts "skipped: #{skip[:name]}: #{skip[:text]}" }
        report_types if defined?(Types)
        @times
          .max(SLOWEST)
          .each { |seconds, name| puts format("slow: %.1f s %s", seconds, name) if seconds >= 1 }
        puts "To repeat this order: --seed #{@seed}"
        save
      end

      # The watchdog also calls this method before it ends a process whose test hangs.
      def save(hanging: nil)
        failures = @details[:failures].dup
        Warnings.own.uniq.each { |message| failures << {name: "warning", text: message.strip} }
        Types.wrong.each { |text| failures << {name: "type", text: text} } if defined?(Types)
        if hanging
          failures << {
            name: hanging, text: "went past its deadline, and took the tests after it with it"
          }
        end
        return unless (path = ENV["GODWIT_TEST_REPORT"])
        extra = failures.size - @details[:failures].size
        File.write(
          path,
          JSON.generate(
            seed: @seed, passed: @counts[:passed], failed: @counts[:failed] + extra,
            skipped: @counts[:skipped], failures: failures, skips: @details[:skips]
          )
        )
      end

      def passed? = Warnings.own.empty? && !(defined?(Types) && Types.wrong.any?)

      private

      def report_types
        Types.wrong.each { |text| puts "type: #{text}" }
        puts "Types: #{Types.summary}"
      end
    end
  end
end

module Minitest
  extensions << "godwit"

  def self.plugin_godwit_init(options)
    reporter << Godwit::TestSupport::Report.new(options)
  end
end
