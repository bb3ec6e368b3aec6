# frozen_string_literal: true

module Godwit
  module Work
    # The same log in the memory of one process, for tests: its clock stands still until the test
    # advances it.
    # @private
    class MemoryEngine < SqliteEngine
      # Milliseconds since 1970 that a test sets.
      class Clock
        def initialize = @now = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
        # @return [Integer]
        def call = @now
        # @param seconds [Numeric]
        def advance(seconds) = @now += (seconds * 1000).round
      end

      def initialize(clock: Clock.new)
        super(Database::MEMORY, clock: clock)
        @listening = []
        @dead = []
        @silent = {}
      end

      # @return [Array<Integer>] ids of the members whose processes have ended: a test adds to it
      attr_reader :dead
      # @return [Hash{Integer => Integer}] ids of the members whose processes are frozen, and the
      #   time of their last report: a test adds to it
      attr_reader :silent

      # (see Contract)
      def listen = PipeWakeUp.new.tap { |one| @listening = [*@listening.reject(&:closed?), one] }

      # @return [#call] milliseconds since 1970
      attr_reader :clock

      private

      def wake_members(batches = [])
        partitions = batches.map { |topic, partition| topic.ids[partition] }
        @listening.each { |one| one.wake(partitions) }
        nil
      end

      def process_of(member, _place) = member
      def alive?(member, _place) = !@dead.include?(member)
      def ended(_member) = (@dead & members.map(&:id)).to_h { |id| [id, ""] }
      def silent_for(member, _place) = (now - @silent.fetch(member, now)) / 1000.0

      # A second connection would have a database of its own.
      def checkpoint(_bytes) = nil

      def current
        return super if @forks == ForkDetector::COUNT[0]
        raise ClosedError, "the memory of a log is in another process: make a log after the fork"
      end
    end
    Contract.check(MemoryEngine)
  end
end
