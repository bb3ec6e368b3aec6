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

      # One who waits, with a wake-up of its own.
      # @private
      class Waiter
        A_DAY = 86_400 # seconds; a wait without deadline in a fiber looks again then (ADR 7)
        LONGEST = 1_000_000 # seconds that IO.select is asked for

        attr_reader :events

        def initialize
          @wake = LibC.event_io
          @signalled = false
        end

        def take(events)
          @events = events
          self
        end

        def wake
          return if @signalled
          @signalled = true
          LibC.eventfd_write(@wake.fileno, 1)
        end

        # Waits until the IO is readable, somebody wakes it, or time is up. No lock is held. The one place that waits for messages.
        # @return [Boolean] whether there is reason to try again
        def pause(io, deadline)
          left = Clock.left(deadline)
          seen = Fiber.current_scheduler ? both(io).wait_readable(left || A_DAY) : select(io, left)
          @signalled || !seen.nil? && seen != false
        end

        # In a child that a trap handler forked: it comes back into this wait, where Ruby would go on looking at the parent's descriptors. So in
        # the child the wake-up becomes a descriptor that is always readable.
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

        def select(io, left)
          Thread.current.thread_variable_set(:godwit_waiter, self)
          IO.select([io, @wake], nil, nil, left && [left, LONGEST].min)
        ensure
          Thread.current.thread_variable_set(:godwit_waiter, nil)
        end

        # A fiber scheduler waits for one IO: an epoll that holds both.
        def both(io)
          @both ||= LibC.epoll_io.tap do |epoll|
            [io, @wake].each { |each| LibC.watch(epoll, each.fileno, LibC::EPOLLIN) }
          end
        end
      end

      # @private
      module AfterFork
        def _fork
          super.tap { |pid| Thread.current.thread_variable_get(:godwit_waiter)&.wake_in_child if pid.zero? }
        end
      end
      Process.singleton_class.prepend(AfterFork) if Process.respond_to?(:_fork)

      # Those who wait for the same thing, guarded by its lock. ADR 1 tells why all are woken.
      # @private
      class Line
        def initialize
          @waiters = []
          @spare = []
        end

        def empty? = @waiters.empty?

        # @return [Waiter] who stands in the line from here on
        # @raise [Failed] when no descriptor is left
        def enter(events)
          waiter = (@spare.pop || Waiter.new).take(events)
          @waiters << waiter
          waiter
        end

        def leave(waiter, keep: true)
          @waiters.delete_if { |other| other.equal?(waiter) }
          return waiter.close unless keep
          waiter.reset
          @spare << waiter
        end

        def wake
          @waiters.each(&:wake)
        end

        # Those who wait for peers wait for no message.
        def wake_those_who_count
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
      module Turns
        MOST = 128

        def give_way
          @turns = (@turns || 0) + 1
          return false if @turns < MOST
          @turns = 0
          scheduler = Fiber.current_scheduler or return false
          scheduler.kernel_sleep(0)
          true
        end
      end
    end
  end
end
