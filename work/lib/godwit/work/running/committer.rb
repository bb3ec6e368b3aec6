# frozen_string_literal: true

module Godwit
  module Work
    # Commits the progress and the outputs of assignments, one commit at a time.
    #
    # **Threads**: the coordinator commits, and each worker whose handler has a transaction.
    # @private
    class Committer
      # The object that the block of `transaction` gets: the connection that commits the record.
      class Statements
        def initialize(database)
          @database = database
        end

        # @param sql [String] one statement
        # @param values [Array] of its parameters
        # @return [Array<Array>] rows
        # @raise [DatabaseError] for another number of values
        # @raise [StateError] when it has ended the transaction, as COMMIT does, or after its end
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

      # Commits what has changed. The next commit tries again what failed.
      # @param assignments [Array<Assignment>]
      # @return [Array<Assignment>] those that this process has lost
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

      # Commits records at once, with the statements of the block.
      # @param messages [Array<Message>] that are finished with it
      # @param outputs [#call] gives the Blocks of their handler, after the block
      # @return [Object] the block's value
      # @raise [StateError] in the block of another one
      # @raise [UnsupportedError] when the engine has no SQL
      # @raise [LostError, Error] nothing was written
      def transaction(assignment, messages, outputs)
        Contract.need(@engine, :transaction)
        if @lock.owned?
          raise Godwit::Errors.of(StateError, :transaction, "it is in another transaction: use " \
            "the db of the outer one, and name its records: transaction(*messages)")
        end
        result = nil
        # An exception of another thread must not come between the commit and its note below.
        Thread.handle_interrupt(NEVER) do
          @lock.synchronize do
            write([assignment], messages, outputs) do |database|
              statements = Statements.new(database)
              result = yield statements
              statements.check # the block may have rescued the error
            ensure
              statements.finish
            end
            assignment.finish(messages)
          rescue LostError
            assignment.lose # the record has not failed: its new owner runs it
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
