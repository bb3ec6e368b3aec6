# frozen_string_literal: true

require "jruby" if RUBY_ENGINE == "jruby"

module Godwit
  module Backend::FFI
    # A waiting thread, and the eventfd that wakes it. A thread has one, and uses it again. All
    # waits for messages are here.
    class Waiter
      # Seconds of JRuby's first poll. It takes no interrupt, and one that does costs ten times
      # as much.
      FIRST = 0.02
      POLLFD = 8 # bytes
      KEY = :godwit_waiter
      private_constant :FIRST, :POLLFD, :KEY

      # @return [Integer] what it waits for: READABLE, WRITABLE, or 0 for peers
      attr_accessor :events
      # @return [Boolean] whether it waits in a Poller
      attr_accessor :polls

      # A trap handler's wait interrupts another wait of its thread, and takes another waiter.
      # @return [Waiter] this thread's, to `put_back`
      # @raise [Failed] when no descriptor is left
      def self.take(events, polls: false)
        thread = Thread.current
        waiter = thread.thread_variable_get(KEY)
        thread.thread_variable_set(KEY, nil) if waiter
        waiter = new if waiter.nil? || waiter.forked?
        waiter.events = events
        waiter.polls = polls
        waiter
      end

      def initialize
        @wake = LibC.event_io
        @generation = ForkDetector::COUNT[0]
        @signalled = false
        @polled_for = nil
      end

      def forked? = @generation != ForkDetector::COUNT[0]

      def wake
        return if @signalled
        @signalled = true
        LibC.eventfd_write(@wake.fileno, 1)
      end

      # Waits until a descriptor is ready, `wake` is called, or time is up. No lock is held.
      # @param wanted [Array<Integer>] descriptors, each with poll's bits
      # @return [Boolean] whether there is reason to try again
      def pause(wanted, deadline)
        Timeout.take_interrupts if Thread.current.pending_interrupt? # FFI's calls do not
        prepare(wanted) unless wanted == @polled_for
        poll(Clock.left(deadline)) || @signalled
      end

      # Makes it ready for its thread's next wait. It is in no queue any more.
      def put_back
        # Also a late interrupt on JRuby writes to the eventfd.
        LibC.empty(@wake) if @signalled || (@polled_for && @polled.get_int16(POLLFD - 2) != 0)
        @signalled = false
        Thread.current.thread_variable_set(KEY, self)
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

        # IO.select has a pool's threads look at descriptors such as ours. After an interrupt such a
        # thread may read a byte from a number that belongs to another object by then.
        def poll(left)
          return true if ready?(left ? [left, FIRST].min : FIRST)
          return false if left && left <= FIRST
          @left = left && left - FIRST
          thread = ::JRuby.reference(Thread.current)
          thread.executeTaskBlocking(::JRuby.runtime.current_context, nil, self)
        end

        public

        # What JRuby calls.
        def run(_context, _data) = ready?(@left)

        # What JRuby calls in the thread that interrupts.
        def wakeup(_thread, _data) = LibC.eventfd_write(@wake.fileno, 1)
      else
        alias_method :poll, :ready?
      end
    end
  end
end
