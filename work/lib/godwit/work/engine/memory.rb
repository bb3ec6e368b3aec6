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
        def call = @now

        def advance(seconds) = @now += (seconds * 1000).round
      end

      def initialize(clock: Clock.new)
        @processes = MemoryProcesses.new(-> { now })
        super(Database::MEMORY, clock: clock)
      end

      # @return [#call] milliseconds since 1970
      attr_reader :clock

      # @return [Array<Integer>] ids of the members whose processes have ended: a test adds to it
      def dead = @processes.dead

      # @return [Hash{Integer => Integer}] ids of the members whose processes are frozen, and the
      #   time of their last report: a test adds to it
      def silent = @processes.silent

      private

      def processes(_file) = @processes

      def reopen
        raise ClosedError, "the memory of a log is in another process: make a log after the fork"
      end
    end
    Contract.check(MemoryEngine)

    # What {Processes} is for a file: here all members are in this process.
    # @private
    class MemoryProcesses
      # @param clock [#call] milliseconds since 1970
      def initialize(clock)
        @clock = clock
        @listening = []
        @dead = []
        @buried = []
        @silent = {}
      end

      # @return [Array<Integer>] see {MemoryEngine#dead}
      attr_reader :dead
      # @return [Hash{Integer => Integer}] see {MemoryEngine#silent}
      attr_reader :silent

      def listen = PipeWakeUp.new.tap { |one| @listening = [*@listening.reject(&:closed?), one] }

      def wake(batches = [])
        partitions = batches.map { |topic, partition| topic.ids[partition] }
        @listening.each { |one| one.wake(partitions) }
        nil
      end

      def facts(members)
        members.map do |id, name|
          silent = (@clock.call - @silent.fetch(id) { @clock.call }) / 1000.0
          [WakeUp.pid(name), WakeUp.host(name), !@dead.include?(id), silent]
        end
      end

      def departed(_member) = (@dead - @buried).to_h { |id| [id, ""] }
      def buried(_names) = @buried |= @dead
      def removed(_name) = nil
    end
  end
end
