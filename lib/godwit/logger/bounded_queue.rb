# frozen_string_literal: true

require_relative "native"

module Godwit
  class Logger < ::Logger
    # The queue between callers and the sender, and what callers do when it is full. Callers take no
    # lock unless it is full: then they wait, which a trap handler cannot.
    # @private
    class BoundedQueue < Native::LogQueue
      # Entries after which a caller yields to the sender. With Ruby's own time slices tens of
      # thousands pile up, grow old and go through the collector: 11 us a record instead of 7.
      PASS_EVERY = 256
      # Seconds that a caller gives the sender, and how often: it waits again if the socket took
      # something and other callers used the room, or while the first connection is being made.
      YIELD = 0.05
      YIELDS = 10
      # Seconds of such waits in vain until the socket counts as unresponsive. A reader that eight
      # writers flood leaves one of them without progress for longer than YIELD.
      LONGEST_WAIT = 1.0

      # @param drops [DropCounter]
      def initialize(settings, drops)
        self.open(settings.queue, settings.queue_byte_limit, PASS_EVERY)
        @overflow = settings.overflow
        @block_timeout = settings.block_timeout
        @drops = drops
        @waiters = @steps = @unresponsive_from = 0
        @stalled = @unresponsive = false
        @lock = Mutex.new
        @freed = ConditionVariable.new
      end

      def empty? = size.zero?

      # Callers.
      # @param entry [Array] see {Entry}
      # @return [true, Symbol] :closed: the queue did nothing. true also when it dropped and counted
      #   a record
      def push(entry)
        return overflow(entry) if full?
        append(entry) || :closed
      end

      # Callers: has the sender tell the token when all earlier entries are sent.
      # @param token [FlushToken]
      # @return [Boolean] false: closed
      def mark(token) = append([nil, token])

      # The sender: waits for an entry, and takes those that are there.
      # @return [Array<Array>, nil] nil: closed, and empty
      def take(most)
        super
      ensure
        tell if @waiters.positive? && roomy?
      end

      # The sender: the socket took something.
      def progress
        @steps += 1
        @stalled = @unresponsive = self.stalled = false
        @waited_from = nil
      end

      # The sender has to wait for the socket, which callers may call unresponsive from that time
      # on. How long the sender has waited does not count: it may wait for the GVL.
      def stall(unresponsive_from = 0)
        @unresponsive_from = unresponsive_from
        @stalled = self.stalled = true
      end

      # @return [Boolean] whether callers need not wait, since the socket takes nothing
      def unresponsive? = @unresponsive

      def close
        super
        Thread.new { tell } if @waiters.positive? # a trap handler, which may close, takes no lock
      end

      # Empties a closed queue that has no sender.
      # @return [Integer] how many records were still there
      def clear
        left = 0
        while (entry = shift)
          entry[0] ? left += 1 : entry[1].tell(false)
        end
        left
      end

      private

      def overflow(entry)
        has_room =
          if @overflow == :block
            wait(@block_timeout, unresponsive: true)
          else
            yield_turn
          end
        return append(entry) || :closed if has_room
        if @overflow == :drop_old
          drop_oldest
          return append(entry) || :closed
        end
        @drops.drop(entry[0])
        true
      end

      def drop_oldest
        while (entry = shift)
          return @drops.drop(entry[0]) if entry[0]
          entry[1].tell(true)
        end
      end

      # Yields to the sender while the socket accepts.
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

      # Waits until there is room.
      # @param seconds [Numeric, nil] nil: for ever
      # @param unresponsive [Boolean] whether also while the socket is unresponsive
      # @return [Boolean] whether there is
      def wait(seconds, unresponsive:)
        before = @steps
        finish = seconds && Timeout.now + seconds
        @lock.synchronize do
          @waiters += 1
          until roomy? || closed?
            left = finish && finish - Timeout.now
            break if left && left <= 0 || !unresponsive && unresponsive?
            @freed.wait(@lock, left)
          end
        ensure
          @waiters -= 1
        end
        !full? || still_full(before)
      rescue ThreadError # a trap handler, which may not wait
        pass(before)
      end

      def pass(before)
        finish = Timeout.now + YIELD
        Thread.pass while full? && !unresponsive? && Timeout.now < finish
        !full? || still_full(before)
      end

      # A caller has waited, and there is no room.
      # @return [false]
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
