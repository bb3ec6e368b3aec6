# frozen_string_literal: true

module Godwit
  module TestSupport
    # Assertions about durations. Upper limits are for test/timing, whose stage runs alone.
    module Timed
      # Seconds within which the docs promise that a wait ends.
      PROMISED = 0.1

      # The number of tries, of which the median counts: the machine or the collector may delay one.
      TRIES = 5

      # A wait. `call` waits; `begun` returns when `call` waits; `endings` are the endings by name,
      # in addition to {Waiting::INTERRUPTS}.
      Wait = Struct.new(:call, :begun, :endings)

      # @return [Float] the median result of several calls of the block
      def median(tries = TRIES) = Array.new(tries) { yield }.sort[tries / 2]

      # Asserts that each ending ends the wait within 0.1 s.
      # @yieldreturn [Wait] a new wait each time
      def assert_ends_at_once
        Waiting::INTERRUPTS.each do |how, ending|
          assert_operator median { after(yield, &ending) }, :<, PROMISED, how
        end
        yield.endings.each_key do |how|
          seconds = median { (wait = yield) && after(wait) { wait.endings[how].call } }
          assert_operator seconds, :<, PROMISED, how
        end
        put_off = median do
          thread = interrupted_before(yield.call, &:kill)
          seconds { over(thread) }
        end
        assert_operator put_off, :<, PROMISED, "a kill that was put off"
      end

      # Asserts the time from the program's last line until its process has ended.
      # @param seconds [Range] its lower limit shows that the end waits for linger
      def assert_ends_within(seconds, source, **options)
        print_time = "$stdout.syswrite(Process.clock_gettime(Process::CLOCK_MONOTONIC).to_s)"
        result = assert_child(run_child("require 'godwit'\n#{source}\n#{print_time}", **options))
        assert_includes seconds, monotonic - Float(result.stdout)
      end

      # @return [Float] seconds of processor time that all threads of the process use during the
      #   block
      def cpu
        before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
        yield
        Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
      end

      private

      # @return [Float] seconds from the ending until the waiting thread has ended
      def after(wait)
        thread = in_thread(&wait.call)
        wait.begun.call
        seconds do
          yield thread
          over(thread)
        end
      end

      def over(thread)
        assert thread.join(Waiters::HANG), "it waits on"
      rescue Godwit::Error, Waiting::Stop, StopIteration
        nil # the error that the ended wait raised
      end
    end
  end
end
