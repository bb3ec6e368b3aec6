# frozen_string_literal: true

require_relative "manual_clock"
require_relative "tiny_scheduler"
require_relative "waiters"

module Godwit
  module TestSupport
    # Waiting for things that happen elsewhere, without sleeps; threads that a test owns.
    module Waiting
      include Waiters
      include ManualClock::Use

      # A thread that records whether a caller has observed its end.
      class OwnedThread < Thread
        def join(*seconds) = observed { super(*seconds) }

        def value = observed { super }

        def observed? = @observed

        # Whether a caller is about to observe its end.
        def awaited? = @joiners.to_i.positive?

        private

        def observed
          @joiners = @joiners.to_i + 1
          yield
        rescue Exception # standard:disable Lint/RescueException -- passed on
          @observed = true
          Kernel.raise # Thread's own method would raise in the thread
        ensure
          @joiners -= 1
        end
      end

      # Like `await`; when it does not come true, the test has failed. For conditions without an
      # event to wait for: another process's file, libzmq's own threads.
      def eventually(message = nil, deadline: HANG, &look)
        await(message, deadline: deadline * GCLevels::SLOWNESS, &look)
      rescue Waiters::NeverCame => error
        flunk error.message
      end

      # That a thread ends; its value.
      def ended(thread, message = "it waits on")
        assert thread.join(HANG), message
        thread.value
      end

      # Runs the block in a thread. The test's end joins it after closing the sockets, raises its
      # exception unless the test has joined it, and fails if it does not end.
      def in_thread(&block)
        thread = OwnedThread.new(&block)
        thread.report_on_exception = false
        (@threads ||= []) << thread
        thread
      end

      # Runs the block in a thread, or in a fiber.
      # @param thing what {Waiters#until_waiting} takes
      # @return [Thread] that waits on the thing by now
      def waiting_on(thing, start = :in_thread, &block)
        __send__(start, &block).tap { until_waiting(thing) }
      end

      # @return [Array<Thread>] all threads but JRuby's finalizer thread
      def live_threads
        Thread.list.reject { |thread| RUBY_ENGINE == "jruby" && thread.name == "Finalizer" }
      end

      # A thread whose only work is one fiber, under {TinyScheduler}.
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

      # @return [Float] that the block took
      def seconds
        start = monotonic
        yield
        monotonic - start
      end

      def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      private

      # Threads that ended by themselves before anything was closed must have ended without an
      # error.
      def threads_that_failed
        (@threads || []).filter_map do |thread|
          next if thread.alive? || thread.observed? || thread.awaited?
          failure_of(thread)
        end
      end

      # @return [Array<String>] errors of the threads that still ran
      def join_threads(seconds)
        (@threads || []).reject(&:observed?).filter_map do |thread|
          if thread.join(seconds)
            nil
          else
            where = thread.backtrace&.first(12)&.join("\n  ")
            thread.kill
            "a thread did not end within #{seconds} s of the sockets' close:\n  #{where}"
          end
        rescue Exception => error # standard:disable Lint/RescueException -- looked at below
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
