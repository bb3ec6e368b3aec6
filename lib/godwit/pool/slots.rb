# frozen_string_literal: true

module Godwit
  class Pool
    # The sockets of a pool in one process.
    class Slots
      # The state of one block that borrows a socket. `lent`: a slot is reserved for the block;
      # `socket`: nil until the block has a socket; `whole`: the block ran to its end.
      Loan = Struct.new(:lent, :socket, :whole)

      def initialize(size, closed: false)
        @size = size
        @closed = closed
        @idle = []
        @lent = 0
        @lock = Mutex.new
        @returned = ConditionVariable.new
      end

      def closed? = @closed
      def available = @size - @lent

      # Gives the loan a slot, and a socket if one is idle. Waits at most `seconds` (nil: for ever).
      # Returns false when time is up.
      def lend(loan, seconds)
        seconds = nil if seconds && seconds >= Timeout::MAX
        start = Timeout.now
        lock do
          until @closed
            remaining = Timeout.remaining(seconds, start)
            if @lent < @size
              # CRuby delivers no interrupt within the next three lines, so a kill loses no slot.
              @lent += 1
              loan.lent = true
              loan.socket = @idle.pop
              return true
            end
            return false if remaining&.zero?
            @returned.wait(@lock, remaining)
          end
        end
        raise Errors.of(ClosedError, :with, "the pool is closed: Godwit::Pool.new makes another")
      end

      def take_back(loan)
        Thread.handle_interrupt(Object => :never) do
          socket = loan.socket
          @lock.synchronize do
            @lent -= 1
            @returned.signal
            usable = loan.whole && !@closed && !socket.closed? && !socket.forked?
            @idle << socket if usable
            socket = nil if usable
          end
          socket.close unless socket.nil? || socket.forked?
        end
      end

      def close
        lock do
          @closed = true
          @returned.broadcast
          @idle.each(&:close).clear
        end
        nil
      end

      private

      def lock(&block)
        @lock.synchronize(&block)
      rescue ThreadError
        raise Errors.of(UnsupportedError, :pool, "a trap handler cannot wait for the pool's " \
          "lock: start a Thread there")
      end
    end
    private_constant :Slots
  end
end
