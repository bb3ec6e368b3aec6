# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Deadlines: seconds on the monotonic clock; nil: never; 0: at once.
    module Clock
      module_function

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # @param milliseconds [Integer, nil] below 0: forever; nil: `otherwise`
      def deadline(milliseconds, otherwise = -1)
        milliseconds ||= otherwise
        return nil if milliseconds < 0
        milliseconds.zero? ? 0 : now + milliseconds / 1000.0
      end

      def passed?(deadline) = !deadline.nil? && (deadline.zero? || now >= deadline)

      def left(deadline) = deadline && [deadline - now, 0].max
    end

    # A waiting thread or fiber, and the eventfd that wakes it. A queue uses it again.
    class Waiter
      A_DAY = Constants::LONGEST_FIBER_WAIT
      # Seconds of JRuby's first poll. It takes no interrupt, and one that does costs ten times
      # as much.
      FIRST = 0.02
      POLLFD = 8 # bytes

      # @return [Integer] what it waits for: READABLE, WRITABLE, or 0
      attr_accessor :events

      # @raise [Failed] when no descriptor is left
      def initialize
        @wake = LibC.event_io
        @signalled = false
        @polled = ::FFI::MemoryPointer.new(2 * POLLFD)
        @polled.put_bytes(0, [0, 1, 0, @wake.fileno, 1, 0].pack("ississ")) # POLLIN
      end

      def wake
        return if @signalled
        @signalled = true
        LibC.eventfd_write(@wake.fileno, 1)
      end

      # Waits until the IO is readable, `wake` is called, or time is up. No lock is held. All
      # waits for messages are here.
      # @return [Boolean] whether there is reason to try again
      def pause(io, deadline)
        Timeout.take_interrupts if Thread.current.pending_interrupt? # FFI's calls do not
        left = Clock.left(deadline)
        fiber = SCHEDULERS && Fiber.current_scheduler
        seen = fiber ? both(io).wait_readable(left || A_DAY) : poll(io, left)
        @signalled || !!seen
      end

      # Makes it ready for the next wait.
      def reset
        return unless @signalled
        LibC.empty(@wake)
        @signalled = false
      end

      def close
        [@wake, @both].compact.each(&:close)
        @both = nil
      end

      private

      def ready?(io, left)
        unless io.equal?(@polled_io)
          @polled.put_int32(0, io.fileno)
          @polled_io = io
        end
        LibC.wait_poll(@polled, 2, LibC.poll_milliseconds(left)) > 0
      end

      if RUBY_ENGINE == "jruby"
        def poll(io, left)
          return true if ready?(io, left ? [left, FIRST].min : FIRST)
          return false if left && left <= FIRST
          InterruptiblePoll.wait([io, @wake], left && left - FIRST)
        end
      else
        alias_method :poll, :ready?
      end

      # A fiber scheduler waits for one IO: an epoll that holds both.
      def both(io)
        return @both if @both && io.equal?(@both_io)
        @both&.close # it holds the descriptor of a socket that was reopened
        @both_io = io
        @both = LibC.epoll_io.tap do |epoll|
          [io, @wake].each { |each| LibC.watch(epoll, each.fileno, LibC::EPOLLIN) }
        end
      end
    end

    # The waiters for one thing. Its owner's lock guards it. ADR 1 says why all are woken.
    class WaitQueue
      # @return [Array<Waiter>] always the same Array
      attr_reader :waiters

      def initialize
        @waiters = []
        @spare = []
      end

      def empty? = @waiters.empty?

      def size = @waiters.size

      # @return [Waiter] to `enter`
      # @raise [Failed] when no descriptor is left
      def spare(events = 0) = (@spare.pop || Waiter.new).tap { |waiter| waiter.events = events }

      def enter(waiter)
        @waiters << waiter
      end

      # @param keep [Boolean] false: the queue will not be used again
      def leave(waiter, keep: true)
        @waiters.delete(waiter)
        return waiter.close unless keep
        waiter.reset
        @spare << waiter
      end

      def wake
        @waiters.each(&:wake)
      end

      # Wakes the waiters for peers, which wait for no message.
      def wake_counting
        @waiters.each { |waiter| waiter.wake if waiter.events.zero? }
      end

      # Closes the epolls that hold a descriptor which is about to be closed.
      def drop_spares
        @spare.each(&:close)
        @spare.clear
      end
    end

    # Lets other fibers run after every so many messages.
    module FairYield
      MOST = Constants::TURNS

      def yield_turn
        @turns = (@turns || 0) + 1
        return false if @turns < MOST
        @turns = 0
        scheduler = SCHEDULERS && Fiber.current_scheduler or return false
        scheduler.kernel_sleep(0)
        true
      end
    end
  end
end
