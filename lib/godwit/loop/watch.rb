# frozen_string_literal: true

module Godwit
  class Loop
    # The callbacks of one socket or IO.
    # @private
    class Watch
      Entry = Struct.new(:callback, :since)
      private_constant :Entry

      def initialize(object)
        @io = (Socket === object) ? object : IO.try_convert(object)
        @entries = {}
      end

      def has?(event) = @entries.key?(event)

      # @param turn [Integer] in which it is registered
      def add(event, callback, turn)
        @entries[event] = Entry.new(callback, turn)
      end

      def remove(event)
        @entries.delete(event)
      end

      # An event that was seen before the callback was registered is old.
      # @return [Proc, nil]
      def callback(event, turn)
        entry = @entries[event]
        entry.callback if entry && entry.since != turn
      end

      def events = @entries.keys

      def closed? = @io.closed?

      # The context of a socket was shut down.
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
