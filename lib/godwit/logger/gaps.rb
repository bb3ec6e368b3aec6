# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The missing numbers of one writer's records, at most {MOST} ranges. Records of a spool, for
    # example, may arrive after later ones. ext/godwit/logger_statistics.c does the same.
    # @private
    class Gaps
      MOST = Constants::LOG_GAPS

      def initialize
        @ranges = [] # [first, last], ascending
      end

      def add(first, last)
        @ranges.shift if @ranges.size >= MOST
        @ranges << [first, last]
      end

      # @return [Boolean] whether the number was missing; it is not any more
      def fill?(number)
        index = @ranges.index { |first, last| number.between?(first, last) } or return false
        first, last = @ranges.delete_at(index)
        @ranges.insert(index, [number + 1, last]) if number < last
        @ranges.insert(index, [first, number - 1]) if number > first && @ranges.size < MOST
        true
      end
    end
    private_constant :Gaps
  end
end
