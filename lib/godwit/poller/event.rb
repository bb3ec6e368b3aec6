# frozen_string_literal: true

module Godwit
  class Poller
    # What a wait found out about one socket or IO.
    class Event
      # @private
      READABLE = Header::POLLIN
      # @private
      WRITABLE = Header::POLLOUT
      # @private
      ERROR = Header::POLLERR
      # @private
      BITS = {readable: READABLE, writable: WRITABLE}.freeze

      # @private
      def initialize(object, bits)
        @object = object
        @bits = bits
        freeze
      end

      # @return [Socket, IO, #to_io] what was registered
      attr_reader :object

      # @return [Boolean] a message is there; of an IO: data, a connection to accept, or its end
      def readable?
        @bits.anybits?(READABLE)
      end

      # @return [Boolean] a message can be sent; of an IO: bytes can be written
      def writable?
        @bits.anybits?(WRITABLE)
      end

      # @return [Boolean] an IO is broken, such as a pipe whose reader is gone; never of a socket
      def error?
        @bits.anybits?(ERROR)
      end

      # @return [Array<Symbol>] of :readable, :writable and :error
      def events
        [(:readable if readable?), (:writable if writable?), (:error if error?)].compact
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{object.inspect} #{events.join(" ")}>"
      end
    end
  end
end
