# frozen_string_literal: true

require "jruby"

module Godwit
  module Backend::FFI
    # On JRuby: poll(2) that Thread#raise, #kill and the like end. IO.select has a pool's threads
    # look at descriptors such as ours. After an interrupt such a thread may read a byte from a
    # number that belongs to another object by then.
    class InterruptiblePoll
      include Java::OrgJruby::RubyThread::Task

      POLLFD = 8 # bytes
      POLLIN = 1
      @spare = []
      @lock = Lock.new("poll")

      # @param ios [Array<IO>] at least one
      # @param seconds [Numeric, nil] nil: for ever
      # @return [Boolean] whether there is reason to look; false: time is up
      # @raise [Failed] when no descriptor is left
      def self.wait(ios, seconds)
        poll = @lock.synchronize { @spare.pop } || new
        poll.wait(ios, seconds)
      ensure
        # Its eventfd stays open: the interrupting thread may write to it a little later.
        @lock.synchronize { @spare << poll } if poll
      end

      def initialize
        @wakeup = LibC.event_io
      end

      # For one thread at a time. See {.wait}.
      def wait(ios, seconds)
        LibC.empty(@wakeup) # of a late interrupt of the wait before
        polled = [@wakeup, *ios].flat_map { |io| [io.fileno, POLLIN, 0] }
        @count = polled.size / 3
        @polled = ::FFI::MemoryPointer.new(@count * POLLFD)
        @polled.put_bytes(0, polled.pack("iss" * @count))
        @milliseconds = LibC.poll_milliseconds(seconds)
        thread = ::JRuby.reference(Thread.current)
        thread.executeTaskBlocking(::JRuby.runtime.current_context, nil, self) != 0
      end

      # What JRuby calls.
      def run(_context, _data) = LibC.wait_poll(@polled, @count, @milliseconds)

      # What JRuby calls in the thread that interrupts.
      def wakeup(_thread, _data) = LibC.eventfd_write(@wakeup.fileno, 1)
    end
  end
end
