# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The bounded queue between callers and the sender, and what callers do when it is full. Callers
    # take no lock unless it is: then they wait, which a trap handler cannot.
    # @private
    class BoundedQueue
      # Entries after which a caller lets the sender have its turn. With Ruby's own time slices tens
      # of thousands pile up, grow old and go through the collector: 11 microseconds a record
      # instead of 7.
      PASS_EVERY = 256
      # Seconds that a caller gives the sender while the socket accepts; again if it took something
      # meanwhile, which other callers were quicker to make up for, and while the first connection
      # is being made, but not more often than that.
      YIELD = 0.05
      YIELDS = 10
      # Seconds in which callers give way in vain before they take the socket for mute. One reader
      # of eight writers that flood it takes nothing of one of them for longer than YIELD, again and
      # again.
      LONGEST_WAIT = 1.0

      # @param records [Integer] bound
      # @param bytes [Integer] bound
      def initialize(records, bytes)
        @queue = Native::LogQueue.new.open(records, bytes, PASS_EVERY)
        @waiters = 0
        @stalled = @unresponsive = false
        @unresponsive_from = @steps = 0
        @lock = Mutex.new
        @freed = ConditionVariable.new
      end

      # @return [Integer] entries
      def size = @queue.size

      def empty? = @queue.size.zero?

      def full? = @queue.full?

      # Callers.
      # @return [Boolean] false: closed
      def push(entry, bytes) = @queue.push(entry, bytes)

      # Callers: has the sender tell when it has sent all that was pushed before.
      # @return [Boolean] false: closed
      def mark(mark)
        push([nil, mark, nil, nil, "", nil, nil, nil], 0)
      end

      # Callers: gives up the oldest.
      # @return [Array, nil] an entry
      def shift
        while (entry = @queue.shift)
          return entry if entry[0]
          entry[1].tell(true)
        end
      end

      # The sender: waits for one, takes what else is there.
      # @return [Array<Array>, nil] nil: closed, and empty
      def take(most)
        @queue.take(most)
      ensure
        tell if @waiters.positive? && @queue.roomy?
      end

      # The sender: the socket took something.
      def progress
        @steps += 1
        @stalled = @unresponsive = @queue.stalled = false
        @waited_from = nil
      end

      # The sender: it has to wait for the socket. Callers who see that it took nothing while they
      # gave way take it for unresponsive, but not before that time. (How long the sender has waited
      # tells nothing: it may have waited for Ruby's lock, which such callers hold.)
      def stalled(unresponsive_from = 0)
        @unresponsive_from = unresponsive_from
        @stalled = @queue.stalled = true
      end

      # @return [Boolean] whether callers need not give way, since the socket takes nothing
      def unresponsive? = @unresponsive

      # Callers: gives way to the sender while the socket accepts.
      # @return [Boolean] whether there is room
      def yield_turn
        YIELDS.times do
          return false if unresponsive?
          before = @steps
          return true if wait(YIELD, unresponsive: false)
          break if @steps == before && unresponsive?
        end
        false
      end

      # Callers: waits until there is room.
      # @param seconds [Numeric, nil] nil: for ever
      # @param unresponsive [Boolean] whether also while the socket is unresponsive
      # @return [Boolean] whether there is
      def wait(seconds, unresponsive:)
        before = @steps
        finish = seconds && Timeout.now + seconds
        @lock.synchronize do
          @waiters += 1
          until @queue.roomy? || @queue.closed?
            left = finish && finish - Timeout.now
            break if left && left <= 0 || !unresponsive && unresponsive?
            @freed.wait(@lock, left)
          end
        ensure
          @waiters -= 1
        end
        !@queue.full? || still_full(before)
      rescue ThreadError # in a trap handler, which may not sleep
        pass(before)
      end

      def close
        @queue.close
        Thread.new { tell } if @waiters.positive? # who closes may be in a trap handler
      end

      def closed? = @queue.closed?

      # Once closed, and without a sender.
      # @return [Integer] how many records were still there
      def clear
        left = 0
        while (entry = @queue.shift)
          entry[0] ? left += 1 : entry[1].tell(false)
        end
        left
      end

      private

      def pass(before)
        finish = Timeout.now + YIELD
        Thread.pass while @queue.full? && !unresponsive? && Timeout.now < finish
        !@queue.full? || still_full(before)
      end

      # Somebody gave way, and there is no room.
      def still_full(before)
        now = Timeout.now
        return false if @steps != before
        from = (@waited_from ||= now - YIELD)
        @unresponsive = true if @stalled && now > @unresponsive_from && now - from > LONGEST_WAIT
        false
      end

      def tell = @lock.synchronize { @freed.broadcast }
    end
    private_constant :BoundedQueue
  end
end
