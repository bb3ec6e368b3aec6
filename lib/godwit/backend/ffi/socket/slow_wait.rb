# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Has a socket find out why its waits last: Socket#_look. The socket ends that by
    # Socket#_stop_looking, at the first call after a wait that got its message.
    class SlowWait
      SLOW = Constants::SLOW_WAIT / 1000.0
      private_constant :SLOW

      def initialize
        @reported_endless = @observing = @fruitless = false
      end

      # @return [Float, nil] when a wait that begins now is slow; nil: that is known already
      def begin(deadline)
        Clock.now + SLOW if deadline != 0 && (deadline || !@reported_endless)
      end

      # The wait is slow.
      # @return [Float, nil] when it is to be reported again
      def report(socket, deadline)
        @reported_endless = true if deadline.nil?
        @observing = true if socket.__send__(:_look, !deadline.nil?)
        deadline && Clock.now + SLOW / 2
      end

      # The wait got nothing.
      def fruitless
        @fruitless = true
      end

      def observing? = @observing

      # At the begin of each call.
      # @return [Boolean] whether the socket is to stop
      def over?
        return false unless @observing
        @observing = @fruitless
        @fruitless = false
        !@observing
      end
    end
  end
end
