# frozen_string_literal: true

module Godwit
  module TestSupport
    # An interrupt at each line of the library in turn. Unlike an error that a TracePoint itself
    # raises, it is deferred where the library defers interrupts, so it comes where another thread's
    # interrupt could come.
    module Interrupts
      Stop = Class.new(Exception) # standard:disable Lint/InheritException -- as an interrupt is

      # Yields a callable that interrupts its block at the first of the lines, then at the second,
      # and so on to the last. The callable returns true when the line was reached; so must the
      # block.
      # @param path [Regexp] of the files
      # @param least [Integer] the least number of lines
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
