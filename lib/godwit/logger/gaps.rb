# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The numbers of one writer's records that have not come, for records that come after a later
    # one: a spool's, say, beside what its socket still sends. It remembers {MOST} ranges;
    # ext/godwit/logger_statistics.c does the same.
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

      # @return [Boolean] whether the number was missing; now it is not
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
