# frozen_string_literal: true

require_relative "manual_clock"
require_relative "tiny_scheduler"
require_relative "waiters"

module Godwit
  module TestSupport
    # Waits for other threads and processes without fixed sleeps; owns a test's threads.
    module Waiting
      include Waiters
      include ManualClock::Use

      Stop = Class.new(StandardError)
      # Each of these ends every wait. The argument is the waiting thread.
      INTERRUPTS = {
        "Thread#kill" => ->(thread) { thread.kill },
        "Thread#raise" => ->(thread) { thread.raise(Stop) }
      }.freeze

      # A thread that records whether another thread has joined it.
      class OwnedThread < Thread
        def join(*seconds) = observed { super(*seconds) }

        def value = observed { super }

        def observed? = @observed

        # Whether another thread is joining this one.
        def awaited? = @joiners.to_i.positive?

        private

        def observed
          @joiners = @joiners.to_i + 1
          yield
        rescue Exception # standard:disable Lint/RescueException -- raised in the joining thread
          @observed = true
          Kernel.raise # Thread#raise would raise in the thread that has ended
        ensure
          @joiners -= 1
        end
      end

      # Like `await`, but the test fails at the deadline. For conditions without an event to wait
      # for: a file of another process, libzmq's own threads.
      def eventually(message = nil, deadline: HANG, &look)
        await(message, deadline: deadline * GCLevels::SLOWNESS, &look)
      rescue Waiters::NeverCame => error
        flunk error.message
      end

      # Asserts that a thread ends, and returns its value.
      def ended(thread, message = "it waits on")
        assert thread.join(HANG), message
        thread.value
      end

      # Runs the block in a thread. The end of the test closes the sockets, joins the thread, raises
      # its exception unless the test has joined it, and fails if the thread does not end.
      def in_thread(&block)
        thread = OwnedThread.new(&block)
        thread.report_on_exception = false
        (@threads ||= []) << thread
        thread
      end

      # Runs the block in a thread, or in a fiber of a new thread.
      # @param thing an argument of {Waiters#until_waiting}
      # @return [Thread] a thread that waits on the thing
      def waiting_on(thing, start = :in_thread, &block)
        __send__(start, &block).tap { until_waiting(thing) }
      end

      # @param wait [#call]
      # @return [Thread] a thread that the block interrupted before the wait began. The deferred
      #   interrupt must end the wait.
      def interrupted_before(wait)
        ready = Thread::Queue.new
        go = false
        thread = in_thread do
          Thread.handle_interrupt(Object => :on_blocking) do
            ready << true
            Thread.pass until go # no Queue#pop: pop is a wait, so the interrupt would end it
            wait.call
          end
        end
        ready.pop
        yield thread
        go = true
        thread
      end

      # @return [Array<Thread>] all threads but JRuby's finalizer thread
      def live_threads
        Thread.list.reject { |thread| RUBY_ENGINE == "jruby" && thread.name == "Finalizer" }
      end

      # Runs the block in one fiber of a new thread, under {TinyScheduler}.
      def fiber(&block)
        in_thread do
          Fiber.set_scheduler(TinyScheduler.new)
          value = nil
          Fiber.schedule do
            value = block.call
          rescue => error
            value = error
          end
          Fiber.scheduler.run
          value.is_a?(Exception) ? raise(value) : value
        end
      end

      # @return [Float] the seconds that the block took
      def seconds
        start = monotonic
        yield
        monotonic - start
      end

      def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      private

      # Reports errors of the threads that ended before the harness closed anything.
      def threads_that_failed
        (@threads || []).filter_map do |thread|
          next if thread.alive? || thread.observed? || thread.awaited?
          failure_of(thread)
        end
      end

      # @return [Array<String>] a text for each thread that hangs, or whose error is no ClosedError
      def join_threads(seconds)
        (@threads || []).reject(&:observed?).filter_map do |thread|
          if thread.join(seconds)
            nil
          else
            where = thread.backtrace&.first(12)&.join("\n  ")
            thread.kill
            "a thread did not end within #{seconds} s of the sockets' close:\n  #{where}"
          end
        rescue Exception => error # standard:disable Lint/RescueException -- checked below
          "a thread raised #{error.class}: #{error.message}" unless Sockets.closing_error?(error)
        end
      end

      def failure_of(thread)
        thread.join
        nil
      rescue Exception => error # standard:disable Lint/RescueException -- reported
        "a thread raised #{error.full_message(highlight: false)}"
      end
    end
  end
end
