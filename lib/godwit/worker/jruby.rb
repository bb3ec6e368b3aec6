# frozen_string_literal: true

require "jruby"

module Godwit
  # A thread whose `join` an interrupt ends at once: JRuby's own Thread#join checks every 0.2 s.
  # {Detached} is a thread that JRuby does not join at exit, as it does all Ruby threads.
  class JRubyThread < Thread
    # The end of a thread, for which other threads can wait.
    class Ending
      POLL_INTERVAL = 1 # second between alive? checks, for a thread killed before its `ensure`

      def initialize
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @over = false
      end

      def reached
        @lock.synchronize do
          @over = true
          @changed.broadcast
        end
      end

      # @return [Boolean] false when time is up
      def await(seconds, thread)
        finish = seconds && Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        @lock.synchronize do
          until @over || !thread.alive?
            remaining = POLL_INTERVAL
            remaining = finish - Process.clock_gettime(Process::CLOCK_MONOTONIC) if finish
            return false if remaining <= 0
            @changed.wait(@lock, [remaining, POLL_INTERVAL].min)
          end
        end
        true
      end
    end

    # A thread of Java, for which the process's exit does not wait.
    class Detached
      def initialize
        @ending = ending = Ending.new
        @thread = java.lang.Thread.new do
          yield
        ensure
          ending.reached
        end
        @thread.daemon = true
        @thread.start
      end

      def join(seconds = nil) = @ending.await(seconds, @thread) ? self : nil
    end

    def initialize
      @ending = Ending.new
      super do
        yield
      ensure
        @ending.reached
      end
    end

    def join(seconds = nil) = (super if @ending.await(seconds, self))
  end
  private_constant :JRubyThread
end
