# frozen_string_literal: true

module Godwit
  module Work
    # Commits the progress and the outputs of assignments, one commit at a time.
    #
    # **Threads**: the coordinator commits, and each worker whose handler has a transaction.
    # @private
    class Committer
      # The argument of the block of `transaction`: runs statements in the record's transaction.
      class Statements
        def initialize(database)
          @database = database
        end

        # @param sql [String] one statement
        # @param values [Array] a value for each parameter of the statement
        # @return [Array<Array>] rows
        # @raise [DatabaseError] when the statement fails, or the number of values is wrong
        # @raise [StateError] if a statement ends the transaction, as COMMIT does, or after its end
        def execute(sql, *values)
          unless @database
            raise Godwit::Errors.of(StateError, :execute, "the transaction of this db has ended: " \
              "use it only in the block of transaction")
          end
          @database.checked_rows(sql, *values).tap { check }
        end

        # @private
        def finish = @database = nil

        # @private
        def check
          return if @database.transaction?
          raise Godwit::Errors.of(StateError, :transaction, "a statement ended it, as " \
            "COMMIT, ROLLBACK, OR ROLLBACK and a full disk do: leave such statements out")
        end
      end

      # @param engine [Object] see Contract
      def initialize(engine, events)
        @engine = engine
        @events = events
        @lock = Mutex.new
      end

      # Commits the assignments that have changed. After a failure the next call commits them again.
      # @param assignments [Array<Assignment>]
      # @return [Array<Assignment>] the assignments that this process has lost
      def commit(assignments)
        @lock.synchronize do
          changed = assignments.select(&:changed?)
          next [] if changed.empty?
          Thread.handle_interrupt(NEVER) { write(changed) }
          []
        rescue LostError
          changed.select { |one| lost?(one) }
        rescue => error
          @events.emit(:error, error: error)
          []
        end
      end

      # Commits records and the statements of the block in one transaction.
      # @param messages [Array<Message>] that the transaction finishes
      # @param outputs [#call] called after the block; returns the handler's outputs as Blocks
      # @return [Object] the block's value
      # @raise [StateError] in the block of another transaction
      # @raise [UnsupportedError] when the engine has no SQL
      # @raise [LostError, Error] when the commit fails; then nothing is written
      def transaction(assignment, messages, outputs)
        Contract.need(@engine, :transaction)
        if @lock.owned?
          raise Godwit::Errors.of(StateError, :transaction, "it is in another transaction: use " \
            "the db of the outer one, and name its records: transaction(*messages)")
        end
        result = nil
        # An exception of another thread must not come between the commit and `finish` below.
        Thread.handle_interrupt(NEVER) do
          @lock.synchronize do
            write([assignment], messages, outputs) do |database|
              statements = Statements.new(database)
              result = yield statements
              statements.check # the block may have rescued the error of `execute`
            ensure
              statements.finish
            end
            assignment.finish(messages)
          rescue LostError
            assignment.lose # the record has not failed: the partition's new owner runs it
            raise
          end
        end
        result
      end

      private

      def write(assignments, messages = [], outputs = -> { [] }, &statements)
        found = assignments.map { |one| one.snapshot(messages) }
        blocks = found.flat_map(&:last)
        written = @engine.commit(found.map(&:first), statements) do
          blocks += outputs.call
          blocks.flat_map(&:batches)
        end
        blocks.each { |one| one.written(written.shift(one.batches.size)) }
        assignments.zip(found) { |one, (_, outputs)| one.committed(outputs.size) }
      end

      def lost?(assignment)
        write([assignment])
        false
      rescue LostError
        true
      rescue => error
        @events.emit(:error, error: error)
        false
      end
    end
  end
end
