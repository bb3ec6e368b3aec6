# frozen_string_literal: true

require "jruby" if RUBY_ENGINE == "jruby"

module Godwit
  module Backend::FFI
    # A waiting thread, and the eventfd that wakes it. Every wait for messages or events uses a
    # Waiter. A wait reuses the Waiter of an earlier wait, of any thread, so many short-lived
    # threads need few descriptors.
    class Waiter
      # Seconds of a wait's first poll on JRuby. No interrupt ends that poll; a poll that can be
      # interrupted costs ten times as much.
      FIRST = 0.02
      POLLFD = 8 # bytes of a struct pollfd
      FREE = Thread::Queue.new

      # @return [Integer] what the thread waits for: READABLE, WRITABLE, or 0 for peers
      attr_accessor :events
      # @return [Boolean] whether the thread waits in a Poller
      attr_accessor :polls

      def self.claim(events, polls: false)
        waiter = free || new
        waiter.events = events
        waiter.polls = polls
        waiter
      end

      def self.free
        FREE.pop(true)
      rescue ThreadError
        nil # no waiter is free
      end
      private_class_method :free

      def initialize
        @wake = LibC.event_io
        @signalled = false
        @polled_for = nil
      end

      def wake
        return if @signalled
        @signalled = true
        LibC.eventfd_write(@wake.fileno, 1)
      end

      # Waits until a descriptor is ready, `wake` is called, or time is up. Callers hold no lock.
      # @param wanted [Array<Integer>] descriptors, each followed by the events for poll
      def pause(wanted, deadline)
        # A call of FFI does not raise the thread's pending interrupts.
        Timeout.take_interrupts if Thread.current.pending_interrupt?
        prepare(wanted) unless wanted == @polled_for
        poll(Clock.remaining(deadline))
      end

      # Stores the waiter for another wait. The waiter must be in no wait queue.
      def release
        # On JRuby a late interrupt may have written to the eventfd too.
        LibC.drain(@wake) if @signalled || (@polled_for && @polled.get_int16(POLLFD - 2) != 0)
        @signalled = false
        FREE << self
      end

      private

      def prepare(wanted)
        bytes = [@wake.fileno, POLLIN, *wanted].each_slice(2).flat_map { |fd, bits| [fd, bits, 0] }
        @count = bytes.size / 3
        @polled = ::FFI::MemoryPointer.new(@count * POLLFD)
        @polled.put_bytes(0, bytes.pack("iss" * @count))
        @polled_for = wanted
      end

      def ready?(seconds)
        LibC.wait_poll(@polled, @count, LibC.poll_milliseconds(seconds)) > 0
      end

      if RUBY_ENGINE == "jruby"
        include Java::OrgJruby::RubyThread::Task

        # JRuby's IO.select lets threads of a pool poll the descriptors. After an interrupt such a
        # thread may read from a descriptor that was closed and now belongs to another object.
        def poll(seconds)
          return true if ready?([seconds, FIRST].compact.min)
          return false if seconds && seconds <= FIRST
          @seconds = seconds && seconds - FIRST
          thread = ::JRuby.reference(Thread.current)
          thread.executeTaskBlocking(::JRuby.runtime.current_context, nil, self)
        end

        public

        # JRuby calls this method for the wait.
        def run(_context, _data) = ready?(@seconds)

        # JRuby calls this method in the thread that interrupts the wait.
        def wakeup(_thread, _data) = LibC.eventfd_write(@wake.fileno, 1)
      else
        alias_method :poll, :ready?
      end
    end
  end
end
