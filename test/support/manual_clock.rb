# frozen_string_literal: true

module Godwit
  module TestSupport
    # A clock that moves only when the test advances it, or by a tick at each read. `with_clock
    # { |clock| … }` replaces Godwit's own clock with it.
    class ManualClock
      # @param tick [Float] seconds by which each read advances the clock
      def initialize(tick: 0.0)
        # A whole number: sums and differences of whole seconds are then exact.
        @now = Process.clock_gettime(Process::CLOCK_MONOTONIC).ceil.to_f
        @tick = tick
      end

      # @return [Float] the clock's time in seconds
      def now = @now += @tick
      alias_method :call, :now

      # @param waking [Array<Thread>] threads that wait on a condition variable with a deadline: the
      #   call wakes them so that they read the clock again
      def advance(seconds, waking: [])
        @now += seconds
        Array(waking).each(&:wakeup)
        self
      end

      # Methods for test cases.
      module Use
        # Replaces Godwit's clock during the block.
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
