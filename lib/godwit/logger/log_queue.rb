# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # What a logger's callers have given and its sender has not yet taken. ext/godwit/logger_queue.c
    # does the same.
    # @private
    class LogQueue
      ENTRY_BYTES = Constants::LOG_ENTRY_BYTES

      def open(records, bytes, pass_every)
        @queue = Thread::Queue.new
        @records = records
        @most_bytes = bytes
        @pass_every = pass_every
        @bytes = 0
        @stalled = false
        @lock = Mutex.new
        self
      end

      # @return [Boolean] whether callers let others run now and then
      attr_writer :stalled

      def push(entry, bytes)
        count(bytes + ENTRY_BYTES)
        begin
          @queue << entry
        # JRuby: an interrupt that is put off has ended the wait for the queue's own lock.
        rescue ThreadError
          retry
        end
        Thread.pass if (@queue.size % @pass_every).zero? && !@stalled
        true
      rescue ClosedQueueError
        false
      end

      def shift
        entry = @queue.pop(true)
        count(-weight(entry))
        entry
      rescue ThreadError
        nil
      end

      def take(most)
        count_nothing if @queue.empty? # races of those who counted cannot add up
        entry = Thread.handle_interrupt(Object => :on_blocking) { @queue.pop } or return
        bytes = weight(entry)
        batch = [entry]
        while batch.size < most && bytes <= @most_bytes / 4 && !@queue.empty? &&
            (entry = @queue.pop(true))
          bytes += weight(entry)
          batch << entry
        end
        batch
      rescue ThreadError # a caller gave that one up
        batch
      ensure
        count(-bytes) if bytes
      end

      def close = @queue.close

      def closed? = @queue.closed?

      def size = @queue.size

      def full? = @queue.size >= @records || @bytes >= @most_bytes

      def roomy? = @queue.size <= @records * 7 / 8 && @bytes <= @most_bytes * 7 / 8

      private

      # @return [Integer] 1 while the sender sleeps, else 0
      def _waiters = @queue.num_waiting

      def weight(entry)
        ENTRY_BYTES + entry[4].bytesize + (entry[5]&.bytesize || 0) + (entry[6]&.bytesize || 0) +
          (entry[7]&.size || 0)
      end

      if RUBY_ENGINE == "jruby"
        def count(bytes) = @lock.synchronize { @bytes += bytes }

        def count_nothing = @lock.synchronize { @bytes = 0 if @queue.empty? }
      else
        # CRuby changes threads in no such addition.
        def count(bytes) = @bytes += bytes

        def count_nothing = @bytes = 0
      end
    end
    private_constant :LogQueue
  end
end
