# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The queue of entries between a logger's callers and its sender, in Ruby. In C it is
    # ext/godwit/logger_queue.c.
    class LogQueue
      # @param pass_every [Integer] entries after which a caller yields to other threads
      def open(records, bytes, pass_every)
        @queue = Thread::Queue.new
        @records = records
        @most_bytes = bytes
        @pass_every = pass_every
        @bytes = 0
        @stalled = false
        @counting = Mutex.new
        self
      end

      attr_writer :stalled # true: callers do not yield, since the sender can send nothing

      # @return [Boolean] false: the queue is closed
      def append(entry)
        count(entry.bytes)
        begin
          @queue << entry
        rescue ThreadError # on JRuby, a deferred interrupt ended the wait for the queue's own lock
          retry
        end
        Thread.pass if (@queue.size % @pass_every).zero? && !@stalled
        true
      rescue ClosedQueueError
        false
      end

      def shift
        entry = @queue.pop(true)
        count(-entry.bytes)
        entry
      rescue ThreadError
        nil
      end

      # @return [Array<Entry, FlushMark>, nil] nil: the queue is closed and empty
      def take(most)
        count_nothing if @queue.empty? # a kill between count and push left the count too high
        entry = @queue.pop or return
        bytes = entry.bytes
        batch = [entry]
        while batch.size < most && bytes <= @most_bytes / 4 && !@queue.empty? &&
            (entry = @queue.pop(true))
          bytes += entry.bytes
          batch << entry
        end
        batch
      rescue ThreadError # a caller has removed that entry meanwhile
        batch
      ensure
        count(-bytes) if bytes
      end

      def close = @queue.close
      def closed? = @queue.closed?
      def size = @queue.size
      def full? = @queue.size >= @records || @bytes >= @most_bytes
      def below_low_water? = @queue.size <= @records * 7 / 8 && @bytes <= @most_bytes * 7 / 8

      private

      def _waiters = @queue.num_waiting

      if RUBY_ENGINE == "jruby"
        # An interrupt during the wait for the mutex would lose entries that {take} dequeued.
        def count(bytes)
          Thread.handle_interrupt(Object => :never) { @counting.synchronize { @bytes += bytes } }
        end

        def count_nothing = @counting.synchronize { @bytes = 0 if @queue.empty? }
      else
        # These two methods need no lock: CRuby switches threads in neither of them.
        def count(bytes) = @bytes += bytes
        def count_nothing = @bytes = 0
      end
    end
    private_constant :LogQueue
  end
end
