# frozen_string_literal: true

module Godwit
  module Work
    # Finds live processes that do not report: such a process is stopped, or a handler holds Ruby's
    # lock. Only seconds in which this process itself runs count, so that processes which were
    # stopped and continue together do not evict each other.
    # @private
    class SilentProcesses
      AFTER = 5 # seconds without a report after which a process is silent
      # The most seconds of silence that a check adds: this process itself may have been stopped.
      STEP = 1

      # @param evict_after [Numeric, nil] seconds without a report before an eviction; nil: never
      def initialize(events, evict_after)
        @events = events
        @evict_after = evict_after
        @seconds = {}
        @told = []
      end

      # Emits `silent` once for each member, and again only after the member's process has reported.
      # @param members [Array<Listed>] of other processes that live
      # @param now [Float] monotonic seconds
      # @param readers [Array<Array(String, String)>] group and topic of each member of this process
      # @return [Array<Listed>] members to evict, since this process can own their partitions
      def check(members, now, readers)
        step = [now - (@last || now), STEP].min
        @last = now
        @seconds = members.to_h do |one|
          seen = @seconds[one.id]
          [one.id, seen ? [seen + step, one.silent].min : 0]
        end
        tell(members.select { |one| @seconds[one.id] >= AFTER })
        return [] unless @evict_after
        members.select { |one| @seconds[one.id] >= @evict_after && readers.include?(one.reader) }
      end

      def evicted(member) = emit(:evicted, member)

      private

      def tell(silent)
        silent.each { |one| emit(:silent, one) unless @told.include?(one.id) }
        @told = silent.map(&:id)
      end

      def emit(name, one)
        @events.emit(name, **one.facts, seconds: one.silent.floor, command: one.evict)
      end
    end
  end
end
