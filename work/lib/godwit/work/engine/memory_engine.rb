# frozen_string_literal: true

module Godwit
  module Work
    # A log in the memory of one process, for tests: its clock stands still until the test
    # advances it.
    # @private
    class MemoryEngine < SqliteEngine
      # A clock that advances only when a test calls `advance`.
      class Clock
        def initialize = @now = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
        def call = @now

        def advance(seconds) = @now += (seconds * 1000).round
      end

      def initialize(clock: Clock.new)
        @processes = MemoryProcesses.new
        super(Database::MEMORY, clock: clock)
      end

      # @return [#call] returns milliseconds since 1970
      attr_reader :clock

      # @return [Array<Integer>] ids of the members whose processes have ended: a test adds ids
      def dead = @processes.dead

      private

      def processes(_file) = @processes

      def reopen
        raise ClosedError, "the memory of a log is in another process: make a log after the fork"
      end
    end
    Contract.check(MemoryEngine)
  end
end
