# frozen_string_literal: true

module Godwit
  module Work
    # Calls of several threads share one transaction: a thread that gets the lock commits its own
    # call and all waiting calls. The other threads then find that their calls have results.
    # @private
    class CommitQueue
      # The batches of one thread's call, and their result or error.
      Call = Struct.new(:batches, :result, :error)

      # @yieldparam batches [Array] the batches of one or more calls
      # @yieldreturn [Array] a result for each batch
      def initialize(&write)
        @write = write
        @waiting = []
        @adding = Mutex.new
        @lock = Mutex.new
      end

      # @return [Array] a result for each batch
      # @raise [Error] when the transaction failed: none of its batches was written
      # @raise [StateError] in a trap block
      def submit(batches)
        call = Call.new(batches)
        # A thread that is killed must not leave a transaction half done.
        Thread.handle_interrupt(NEVER) do
          Timers.locked(@adding, :produce) { @waiting << call }
          @lock.synchronize { commit unless call.result || call.error }
        end
        raise call.error.exception(call.error.message) if call.error
        call.result
      end

      private

      def commit
        calls, @waiting = @waiting, []
        return calls[0].result = @write.call(calls[0].batches) if calls.size == 1
        results = @write.call(calls.flat_map(&:batches))
        calls.each { |call| call.result = results.shift(call.batches.size) }
      rescue => error
        calls.each { |call| call.error = error }
      end
    end
  end
end
