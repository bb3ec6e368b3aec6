# frozen_string_literal: true

module Godwit
  class Loop
    # The callbacks of one socket or IO.
    # @private
    class Watch
      def initialize(object)
        @io = (Socket === object) ? object : IO.try_convert(object)
        @entries = {} # event => callback, and the turn in which it was registered
      end

      def has?(event) = @entries.key?(event)

      def add(event, callback, turn)
        @entries[event] = [callback, turn]
      end

      def remove(event) = @entries.delete(event)

      # @return [Proc, nil] nil when the callback was registered in this turn, after the event was
      #   seen
      def callback(event, turn)
        callback, since = @entries[event]
        callback unless since == turn
      end

      def events = @entries.keys
      def closed? = @io.closed?

      # @return [Boolean] whether the context of a socket was shut down
      def terminated?
        @io.events if Socket === @io
        false
      rescue ContextTerminatedError
        true
      rescue Error
        false
      end
    end
  end
end
