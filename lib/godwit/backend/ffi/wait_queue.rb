# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Deadlines: seconds on the monotonic clock; nil: never; 0: at once.
      # @private
      module Clock
        module_function

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        # @param milliseconds [Integer, nil] below 0: forever; nil: `otherwise`
        def deadline(milliseconds, otherwise = -1)
          milliseconds = otherwise if milliseconds.nil?
          return nil if milliseconds < 0
          milliseconds.zero? ? 0 : now + milliseconds / 1000.0
        end

        def passed?(deadline) = !deadline.nil? && (deadline.zero? || now >= deadline)

        def left(deadline) = deadline && [deadline - now, 0].max
      end

      # Ruby's fiber scheduler of this thread; JRuby has none.
      # @private
      module Scheduler
        POSSIBLE = Fiber.respond_to?(:current_scheduler)

        if POSSIBLE
          def self.current = Fiber.current_scheduler

          # Whether this thread has one, used by this fiber or not.
          def self.here? = !Fiber.scheduler.nil?
        else
          def self.current = nil

          def self.here? = false
        end
      end

      # What one who waits is woken by. It is used again, by another Waiter.
      # @private
      class WakeUp
        A_DAY = Constants::LONGEST_FIBER_WAIT
        # JRuby's threads take no interrupt in a native call, and one that they take takes ten times
        # as long: it polls first, for so many seconds.
        FIRST = 0.02
        POLLFD = 8 # bytes

        def initialize
          @wake = LibC.event_io
          @generation = ForkDetector.now
          @signalled = false
          @polled = ::FFI::MemoryPointer.new(2 * POLLFD)
          @polled.put_int16(4, 1) # POLLIN
          @polled.put_int32(POLLFD, @wake.fileno)
          @polled.put_int16(POLLFD + 4, 1)
        end

        def wake
          return if @signalled
          @signalled = true
          LibC.eventfd_write(@wake.fileno, 1)
        end

        # Waits until the IO is readable, somebody wakes it, or time is up. No lock is held. The one
        # place that waits for messages.
        # @return [Boolean] whether there is reason to try again
        def pause(io, deadline)
          thread = Thread.current
          Timeout.take_interrupts if thread.pending_interrupt? # FFI's calls do not
          left = Clock.left(deadline) if deadline
          seen = Scheduler.current ? both(io).wait_readable(left || A_DAY) : poll(io, left, thread)
          @signalled || !seen.nil? && seen != false
        end

        # In a child that a trap handler forked: it comes back into this wait, or to the point just
        # before it, on descriptors that are the parent's too. So in the child the wake-up becomes
        # one that is always readable.
        def wake_in_child
          fd = LibC.eventfd(1, LibC::CLOEXEC | LibC::NONBLOCK)
          return if fd < 0
          LibC.dup2(fd, @wake.fileno)
          LibC.close(fd)
        end

        # Ready for the next wait.
        def reset
          return unless @signalled
          LibC.empty(@wake)
          @signalled = false
        end

        def close
          @wake.close
          @both&.close
          @both = nil
        end

        private

        if RUBY_ENGINE == "jruby"
          def poll(io, left, _thread)
            return true if ready?(io, left ? [left, FIRST].min : FIRST)
            return false if left && left <= FIRST
            InterruptiblePoll.wait([io, @wake], left && left - FIRST)
          end
        else
          # A signal ends it early, for Ruby to look at.
          def poll(io, left, thread)
            # Of the wait that a trap handler interrupted.
            outer = thread.thread_variable_get(:godwit_wake_up)
            thread.thread_variable_set(:godwit_wake_up, self)
            # A child that was forked since the caller looked has nobody to wake it.
            @generation != ForkDetector::PAGE.get_int32(0) || ready?(io, left)
          ensure
            thread.thread_variable_set(:godwit_wake_up, outer)
          end
        end

        def ready?(io, left)
          unless io.equal?(@polled_io)
            @polled.put_int32(0, io.fileno)
            @polled_io = io
          end
          LibC.wait_poll(@polled, 2, LibC.poll_milliseconds(left)) > 0
        end

        # A fiber scheduler waits for one IO: an epoll that holds both.
        def both(io)
          return @both if @both && io.equal?(@both_io)
          @both&.close # the socket was made anew since
          @both_io = io
          @both = LibC.epoll_io.tap do |epoll|
            [io, @wake].each { |each| LibC.watch(epoll, each.fileno, LibC::EPOLLIN) }
          end
        end
      end

      # @private
      module AfterFork
        def _fork
          super.tap do |pid|
            Thread.current.thread_variable_get(:godwit_wake_up)&.wake_in_child if pid.zero?
          end
        end
      end
      Process.singleton_class.prepend(AfterFork) if Process.respond_to?(:_fork)

      # A Waiter belongs to one wait. If a kill makes `leave` run twice, the second call removes no
      # other waiter.
      # @private
      class Waiter
        attr_reader :wake_up, :events

        def initialize(wake_up, events)
          @wake_up = wake_up
          @events = events
        end

        def wake = @wake_up.wake

        def pause(io, deadline) = @wake_up.pause(io, deadline)
      end

      # Those who wait for the same thing, guarded by its lock. ADR 1 tells why all are woken.
      # @private
      class WaitQueue
        # The Array stays the same.
        attr_reader :waiters

        def initialize
          @waiters = []
          @spare = []
        end

        def empty? = @waiters.empty?

        # @return [Integer] threads and fibers that wait
        def size = @waiters.size

        # Who stands in the line from here on.
        def enter(waiter)
          @waiters << waiter
        end

        # @return [WakeUp] that nobody has
        # @raise [Failed] when no descriptor is left
        def spare = @spare.pop || WakeUp.new

        def leave(waiter, keep: true)
          recycle(waiter, keep: keep) if @waiters.delete(waiter) # it may have left already
        end

        # Of one who has left.
        def recycle(waiter, keep: true)
          return waiter.wake_up.close unless keep
          waiter.wake_up.reset
          @spare << waiter.wake_up
        end

        def wake
          @waiters.each(&:wake)
        end

        # Those who wait for peers wait for no message.
        def wake_counting
          @waiters.each { |waiter| waiter.wake if waiter.events.zero? }
        end

        # Their epolls hold a descriptor that goes.
        def drop_spares
          @spare.each(&:close)
          @spare.clear
        end
      end

      # Lets other fibers run, every so many messages.
      # @private
      module FairYield
        MOST = Constants::TURNS

        def yield_turn
          @turns = (@turns || 0) + 1
          return false if @turns < MOST
          @turns = 0
          scheduler = Scheduler.current or return false
          scheduler.kernel_sleep(0)
          true
        end
      end
    end
  end
end
