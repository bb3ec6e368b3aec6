# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Decides when a slow wait of a socket is diagnosed (Socket#_diagnose). The first call after a
    # wait that succeeded ends the diagnosis (Socket#_end_diagnosis).
    class SlowWait
      SLOW = Constants::SLOW_WAIT / 1000.0

      def initialize
        @reported_endless = @observing = @fruitless = false
      end

      # @return [Float, nil] the time when a wait that begins now is diagnosed; nil: never
      def begin(deadline)
        Runtime.now + SLOW if deadline != 0 && (deadline || !@reported_endless)
      end

      # @return [Float, nil] the time when the same wait is diagnosed again; nil: never
      def report(socket, deadline)
        @reported_endless = true if deadline.nil?
        @observing = true if socket.__send__(:_diagnose, !deadline.nil?)
        deadline && Runtime.now + SLOW / 2
      end

      # Records that the last diagnosed wait timed out.
      def fruitless
        @fruitless = true
      end

      def observing? = @observing

      # @return [Boolean] whether the present call has to end the diagnosis
      def over?
        return false unless @observing
        @observing = @fruitless
        @fruitless = false
        !@observing
      end
    end
  end
end
