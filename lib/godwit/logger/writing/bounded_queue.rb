# frozen_string_literal: true

require_relative "log_queue" unless Godwit::BACKEND == :native

module Godwit
  class Logger < ::Logger
    # The queue of the C extension, or the one in Ruby.
    QUEUE = (BACKEND == :native) ? Backend::Native::LogQueue : LogQueue
    private_constant :QUEUE

    # The queue between callers and the sender, and what callers do when it is full. Callers lock
    # the mutex only to wait; a trap handler cannot lock it.
    class BoundedQueue < QUEUE
      # The element that {#flush} appends to the queue: its caller waits for all entries before it.
      class FlushMark
        attr_accessor :sent # whether the sender has sent the entries; nil: not yet known
        def bytes = LoggerConstants::ENTRY_BYTES
      end

      # After so many entries a caller yields to the sender's thread. Otherwise tens of thousands of
      # entries wait, and the garbage collector makes a record cost 11 us instead of 7.
      PASS_EVERY = 256
      # Seconds of one wait for space in a full queue, and the most waits of one call. The call
      # waits no more once the socket counts as unresponsive.
      YIELD = 0.05
      YIELDS = 10
      # Seconds of unsuccessful waits after which the socket counts as unresponsive. When eight
      # writers flood a reader, one of them may make no progress for longer than YIELD.
      LONGEST_WAIT = 1.0

      def initialize(settings, sequence)
        self.open(settings.queue, settings.queue_byte_limit, PASS_EVERY)
        @overflow = settings.overflow
        @block_timeout = settings.block_timeout
        @sequence = sequence
        @waiters = @steps = @unresponsive_from = 0
        @stalled = @unresponsive = false
        @lock = Mutex.new
        @changed = ConditionVariable.new
      end

      def empty? = size.zero?

      # Adds an entry; any thread may call this method. Returns true, also if the record was dropped
      # and counted; :closed when the queue has not accepted the entry.
      def push(entry)
        return overflow(entry) if full?
        append(entry) || :closed
      end

      # Waits until the sender has sent all earlier entries.
      # @return [Boolean] false: not all entries were sent, or not in time
      def flush(seconds)
        mark = FlushMark.new
        @lock.synchronize do
          return false unless append(mark)
          wait_until(seconds) { !mark.sent.nil? }
        end
        mark.sent || false
      end

      # Tells the callers of {#flush} whether their entries were sent.
      def answer(mark, sent)
        mark.sent = sent
        wake
      end

      # The sender calls this method: it waits for an entry, and dequeues all entries that are
      # there. Interrupts come only during the wait.
      def take(most)
        Thread.handle_interrupt(Object => :on_blocking) { super }
      ensure
        wake if @waiters.positive? && below_low_water?
      end

      # Wakes waiting callers. The sender calls this method when the socket has accepted records.
      def progress
        @steps += 1
        @stalled = @unresponsive = self.stalled = false
        @waited_from = nil
      end

      # Notes that the sender waits for the socket. Only then, and from `unresponsive_from` on, may
      # callers count the socket as unresponsive: at other times the sender may wait for the GVL.
      def stall(unresponsive_from = 0)
        @unresponsive_from = unresponsive_from
        @stalled = self.stalled = true
      end

      def unresponsive? = @unresponsive

      def close
        super
        wake if @waiters.positive?
      end

      # Empties a closed queue that has no sender, and returns the number of its records.
      def clear
        records = 0
        while (entry = shift)
          (FlushMark === entry) ? answer(entry, false) : records += 1
        end
        records
      end

      private

      def overflow(entry)
        return :closed if closed?
        block = @overflow == :block
        has_space = block ? wait_for_space(@block_timeout, patient: true) : yield_turn
        return append(entry) || :closed if has_space || (@overflow == :drop_old && drop_oldest)
        @sequence.drop(entry.stream)
        true
      end

      def drop_oldest
        while (entry = shift)
          next answer(entry, true) if FlushMark === entry
          @sequence.drop(entry.stream)
          break
        end
        true
      end

      # Waits for space, up to YIELDS times, while the socket counts as responsive.
      def yield_turn
        YIELDS.times do
          before = @steps
          return false if unresponsive?
          return true if wait_for_space(YIELD, patient: false)
          next unless @steps == before # equal: the socket has accepted nothing meanwhile
          now = Timeout.now
          from = (@waited_from ||= now - YIELD)
          @unresponsive = true if @stalled && now > @unresponsive_from && now - from > LONGEST_WAIT
        end
        false
      end

      def wait_for_space(seconds, patient:)
        @lock.synchronize do
          wait_until(seconds) { below_low_water? || closed? || !patient && unresponsive? }
        end
        !full?
      rescue ThreadError
        false # this is a trap handler, which cannot lock the mutex
      end

      # The caller holds the lock. A waiting caller counts itself before it checks the condition,
      # since the sender wakes callers only while some wait.
      def wait_until(seconds)
        finish = seconds && Timeout.now + seconds
        @waiters += 1
        until yield
          remaining = Timeout.until(finish)
          return if remaining&.zero?
          @changed.wait(@lock, remaining)
        end
        true
      ensure
        @waiters -= 1
      end

      def wake
        @lock.synchronize { @changed.broadcast }
      rescue ThreadError # this is a trap handler, which cannot lock the mutex
        Thread.new { wake }
      end
    end
    private_constant :BoundedQueue
  end
end
