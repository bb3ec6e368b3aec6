# frozen_string_literal: true

require "jruby"

module Godwit
  module Backend
    module FFI
      # On JRuby: poll(2) that Thread#raise, #kill and the like end. IO.select has threads of a pool look at descriptors such as ours, and who is interrupted there closes
      # what such a thread still has in hand: that then reads a byte from what has the number by now, which is somebody else's data, or his wake-up.
      # @private
      class InterruptiblePoll
        include Java::OrgJruby::RubyThread::Task

        POLLFD = 8 # bytes
        POLLIN = 1
        LONGEST = 1_000_000 # seconds
        @spare = []
        @lock = Lock.new

        class << self
          # Yields one that nobody has, while no interrupt is taken: as this returns one may be, and what it gave would be lost.
          # @raise [Failed] when no descriptor is left
          def take
            @lock.synchronize { yield @spare.pop || new }
          end

          # It stays open: who interrupts a wait may ring its bell a little later.
          def give_back(poll)
            @lock.synchronize { @spare << poll }
          end
        end

        def initialize
          @bell = LibC.event_io
        end

        # One thread at a time.
        # @param ios [Array<IO>] at least one
        # @param seconds [Numeric, nil] nil: for ever
        # @return [Boolean] whether there is reason to look; false: time is up
        def wait(ios, seconds)
          @milliseconds = seconds ? ([seconds, LONGEST].min * 1000).ceil : -1
          LibC.empty(@bell) # of what rang for the wait before
          polled = [@bell, *ios].flat_map { |io| [io.fileno, POLLIN, 0] }
          @polled = ::FFI::MemoryPointer.new(polled.size / 3 * POLLFD).put_bytes(0, polled.pack("iss" * (polled.size / 3)))
          @count = polled.size / 3
          ::JRuby.reference(Thread.current).executeTaskBlocking(::JRuby.runtime.current_context, nil, self) != 0
        end

        # What JRuby calls.
        def run(_context, _data) = LibC.wait_poll(@polled, @count, @milliseconds)

        # What JRuby calls in the thread that interrupts.
        def wakeup(_thread, _data) = LibC.eventfd_write(@bell.fileno, 1)
      end
    end
  end
end
