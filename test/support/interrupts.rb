# frozen_string_literal: true

module Godwit
  module TestSupport
    # Interrupts the library at each of its lines in turn, by Thread#raise: handle_interrupt defers
    # that, and would not defer an error raised in a TracePoint.
    module Interrupts
      Stop = Class.new(Exception) # standard:disable Lint/InheritException -- as an interrupt is

      # Yields a callable. Its first call interrupts its block at the first of the lines, its second
      # call at the second, and so on. The callable returns whether the line was reached; the outer
      # block must return that.
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
          next if count == line # a Regexp takes interrupts as a wait does
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
