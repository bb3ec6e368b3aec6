# frozen_string_literal: true

module Godwit
  module TestSupport
    # A clock that does not move until the test advances it, or that advances a tick at each read.
    # `with_clock { |clock| … }` replaces Godwit's own clock with it.
    class ManualClock
      # @param tick [Float] seconds
      def initialize(tick: 0.0)
        @now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        @tick = tick
      end

      # @return [Float] seconds
      def now = @now += @tick
      alias_method :call, :now

      # @param waking [Array<Thread>] threads that wait for a deadline by a condition variable: they
      #   read the clock again
      def advance(seconds, waking: [])
        @now += seconds
        Array(waking).each(&:wakeup)
        self
      end

      # Methods for test cases.
      module Use
        # Godwit's clock, for the length of the block.
        def with_clock(clock = ManualClock.new)
          Godwit::Timeout.clock = clock
          yield clock
        ensure
          Godwit::Timeout.clock = nil
        end
      end
    end
  end
end
