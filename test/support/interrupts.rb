# frozen_string_literal: true

module Godwit
  module TestSupport
    # Interrupts the library at each of its lines in turn, by Thread#raise: handle_interrupt defers
    # Thread#raise, but would not defer an error that a TracePoint raises.
    module Interrupts
      Stop = Class.new(Exception) # standard:disable Lint/InheritException -- as an interrupt is

      # Calls the block once per line, with a callable. The callable runs a block, interrupts it at
      # that line, and returns whether the line was reached; the outer block returns this value.
      # @param path [Regexp] matches the paths of the files whose lines count
      # @param least [Integer] fewer lines than this fail the test
      def at_each_line(path, least: 2)
        (1..).each do |line|
          unless yield ->(&block) { interrupted_at(line, path, &block) }
            break assert_operator(line, :>, least)
          end
        end
      end

      private

      def interrupted_at(line, path)
        thread = Thread.current
        count = 0
        trace = TracePoint.new(:line) do |point|
          next if count == line # Stop is pending already, and a Regexp would raise it here
          if Thread.current == thread && point.path.match?(path) && (count += 1) == line
            thread.raise(Stop)
          end
        end
        trace.enable { yield }
        count >= line
      rescue Stop
        true
      end
    end
  end
end
