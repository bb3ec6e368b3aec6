# frozen_string_literal: true

module Godwit
  module TestSupport
    # The smallest Fiber.scheduler: IO.select, timers, and a pipe by which other threads wake the
    # scheduler. It has only the four methods that Ruby requires, and a test can decide which fiber
    # runs first.
    class TinyScheduler
      # Runs the block in a new thread under a new scheduler.
      # @yieldparam scheduler [TinyScheduler]
      # @return [Thread] ends when all its fibers have ended
      def self.thread
        Thread.new do
          scheduler = new
          Fiber.set_scheduler(scheduler)
          yield scheduler
        end
      end

      # @return [Proc, nil] gets the fibers that can run, and returns them in the order to run them
      attr_accessor :order

      # @return [Boolean] whether the thread ends without its waiting fibers
      attr_accessor :careless

      def initialize
        @waiting = {}
        @timers = {}
        @ready = []
        # Retains the blocked fibers: Ruby's own lists of waiters do not protect a fiber from the
        # garbage collector.
        @blocked = {}
        @lock = Thread::Mutex.new
        @wakeup_reader, @wakeup = IO.pipe
      end

      def io_wait(io, events, timeout = nil)
        fiber = Fiber.current
        @waiting[fiber] = [io, events]
        @timers[fiber] = now + timeout if timeout
        Fiber.yield
      ensure
        @waiting.delete(fiber)
        @timers.delete(fiber)
      end

      def kernel_sleep(seconds = nil)
        block(:sleep, seconds)
        true
      end

      def block(_blocker, timeout = nil)
        fiber = Fiber.current
        @timers[fiber] = now + timeout if timeout
        @blocked[fiber] = true
        Fiber.yield
      ensure
        @blocked.delete(fiber)
        @timers.delete(fiber)
      end

      def unblock(_blocker, fiber)
        @lock.synchronize { @ready << fiber }
        @wakeup.write_nonblock(".", exception: false)
      rescue IOError
        # The thread's last fiber has ended. In Ruby 3.1 an error raised in Mutex#unlock ends the
        # thread, so this method ignores the error.
        nil
      end

      def fiber(&block)
        fiber = Fiber.new(blocking: false, &block)
        fiber.resume
        fiber
      end

      # When its thread was killed, the scheduler abandons its fibers: they may wait for ever, and
      # in Ruby 3.3 a second kill cannot end this method.
      def close
        run unless careless || Thread.current.status == "aborting"
        [@wakeup, @wakeup_reader].each(&:close)
      end

      def run
        run_once until @waiting.empty? && @timers.empty? && @blocked.empty? && @ready.empty?
      end

      # Waits until at least one fiber can run, and runs all that can.
      def run_once
        readable, writable = select
        @wakeup_reader.read_nonblock(64, exception: false) if readable.include?(@wakeup_reader)
        fibers = @waiting.filter_map do |fiber, (io, events)|
          ready = ((events & IO::READABLE).zero? || !readable.include?(io)) ? 0 : IO::READABLE
          ready |= IO::WRITABLE if (events & IO::WRITABLE).positive? && writable.include?(io)
          [fiber, ready] if ready.positive?
        end
        woken = @lock.synchronize { @ready.slice!(0..) }
        fibers.concat((woken + due).map { |fiber| [fiber, false] })
        fibers = fibers.uniq(&:first)
        fibers = order.call(fibers) if order
        fibers.each { |fiber, value| fiber.resume(value) if fiber.alive? }
      end

      private

      def select
        reads = @waiting.filter_map { |_, (io, events)| io if (events & IO::READABLE).positive? }
        writes = @waiting.filter_map { |_, (io, events)| io if (events & IO::WRITABLE).positive? }
        found = IO.select([*reads, @wakeup_reader], writes, [], patience)
        found ? found.first(2) : [[], []]
      end

      def patience
        return 0 unless @ready.empty?
        (first = @timers.values.min) && [first - now, 0].max
      end

      def due
        moment = now
        @timers.select { |_, time| time <= moment }.keys
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
