# frozen_string_literal: true

module Godwit
  module Work
    # Chooses what a worker runs next. In an assignment that is {Assignment#isolated?} each record
    # runs alone: other records of this process wait until the record is committed. So no record is
    # blamed when another record ends the process.
    #
    # **Threads**: {Workers} changes the state under its lock.
    # @private
    class Turns
      # The most seconds that a record waits for running handlers before it runs alone, and that
      # other records wait for the record that runs alone.
      PATIENCE = 1
      LONG_AGO = -Float::INFINITY
      # Lanes that a worker has not begun, with their records, and when the worker got the lanes.
      Chunk = Struct.new(:assignment, :lanes, :since)

      # @param clock [#call] returns monotonic seconds
      def initialize(workers, clock)
        @workers = workers
        @clock = clock
        @chunks = []
        @turn = 0
        @since = @asked = LONG_AGO
      end

      # @return [Assignment, nil] its record runs alone, or ran alone and is not committed yet
      attr_reader :alone

      # @return [Chunk] a new one, which a worker uses until its thread ends
      def chunk = Chunk.new(nil, []).tap { |one| @chunks += [one] }

      def delete(chunk) = @chunks = @chunks.reject { |one| one.equal?(chunk) }

      # Lets other records run, since the record that ran alone is committed.
      def finish = @alone = nil

      # @return [Boolean] whether a worker has lanes that it has not begun
      def untouched? = @chunks.any? { |chunk| chunk.lanes.any? }

      # Gives lanes to a worker: lanes of the assignments in turn, or else a lane that another
      # worker has not begun, because a handler of that worker takes long.
      # @param chunk [Chunk] of the worker
      # @param size [Integer] the most records
      # @return [Assignment, nil] the lanes' assignment; nil: no lane can run now
      def assign(chunk, assignments, size)
        chunk.assignment, chunk.lanes = new_lanes(assignments, size) || untouched || [nil, []]
        chunk.since = @clock.call
        chunk.assignment
      end

      private

      def new_lanes(assignments, size)
        assignments.rotate(@turn += 1).each do |one|
          next if one.waiting.zero? || !open?(one)
          lanes = one.dequeue(size, 1 + one.waiting / @workers) or next
          begin_alone(one) if one.isolated?
          return [one, lanes]
        end
        nil
      end

      def untouched
        @chunks.each do |chunk|
          one = chunk.assignment
          next if one.nil? || one.halted? || !open?(one)
          lane = chunk.lanes.pop
          return [one, [lane]] if lane
        end
        nil
      end

      # @return [Boolean] whether records of the assignment may begin
      def open?(assignment)
        return !recent?(@asked) && !(@alone && recent?(@since)) unless assignment.isolated?
        return false if @alone
        return true if @chunks.none? { |chunk| chunk.assignment && recent?(chunk.since) }
        @asked = @clock.call unless recent?(@asked)
        false
      end

      def begin_alone(assignment)
        @alone = assignment
        @since = @clock.call
        @asked = LONG_AGO
      end

      def recent?(time) = @clock.call - time < PATIENCE
    end
  end
end
