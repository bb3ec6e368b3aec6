# frozen_string_literal: true

module Godwit
  module TestSupport
    # Shared by the tests of duration, which are in test/timing and run alone.
    module Timed
      Stop = Class.new(StandardError)

      # Seconds within which the docs promise that a wait ends.
      PROMISED = 0.1

      # A pause of the machine or of a collector may make one try late. The median of several tries
      # counts.
      TRIES = 5

      # A wait. call: waits. begun: returns when it does. endings: its endings by name, beside
      # {INTERRUPTS}.
      Wait = Struct.new(:call, :begun, :endings)

      # Every wait ends by these. The waiting thread is the argument.
      INTERRUPTS = {
        "Thread#kill" => ->(thread) { thread.kill },
        "Thread#raise" => ->(thread) { thread.raise(Stop) }
      }.freeze

      # @return [Float] the median of the block's results
      def median(tries = TRIES) = Array.new(tries) { yield }.sort[tries / 2]

      # Asserts that each ending ends the wait within 0.1 s.
      # @yieldreturn [Wait] a new wait each time
      def assert_ends_at_once
        INTERRUPTS.each do |how, ending|
          assert_operator median { after(yield, &ending) }, :<, PROMISED, how
        end
        yield.endings.each_key do |how|
          seconds = median { (wait = yield) && after(wait) { wait.endings[how].call } }
          assert_operator seconds, :<, PROMISED, how
        end
        seconds = median { after_a_kill_before(yield) }
        assert_operator seconds, :<, PROMISED, "a kill that was put off"
      end

      # That a program's process ends so many seconds after the program has. The lower bound shows
      # that the clock was read before the wait.
      # @param seconds [Range]
      def assert_ends_within(seconds, source, **options)
        print_time = "$stdout.syswrite(Process.clock_gettime(Process::CLOCK_MONOTONIC).to_s)"
        result = assert_child(run_child("require 'godwit'\n#{source}\n#{print_time}", **options))
        assert_includes seconds, monotonic - Float(result.stdout)
      end

      # @return [Float] seconds of processor time of all of this process, for the length of the
      #   block
      def cpu
        before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
        yield
        Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
      end

      private

      # @return [Float] seconds from the ending until the thread that waited is over
      def after(wait)
        thread = in_thread(&wait.call)
        wait.begun.call
        seconds do
          yield thread
          over(thread)
        end
      end

      # The kill comes before the wait, which takes it.
      def after_a_kill_before(wait)
        ready = Thread::Queue.new
        go = false
        thread = in_thread do
          Thread.handle_interrupt(Object => :on_blocking) do
            ready << true
            Thread.pass until go # a Queue would be a wait
            wait.call.call
          end
        end
        ready.pop
        thread.kill
        go = true
        seconds { over(thread) }
      end

      def over(thread)
        assert thread.join(Waiters::HANG), "it waits on"
      rescue Godwit::Error, Stop, StopIteration
        nil # the result of the wait
      end
    end
  end
end
