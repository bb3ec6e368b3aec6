# frozen_string_literal: true

module Godwit
  class Poller
    # The state of one socket or IO at the end of a wait.
    class Event
      # @private
      READABLE = 1
      # @private
      WRITABLE = 2
      # @private
      ERROR = 4
      # @private
      BITS = {readable: READABLE, writable: WRITABLE}.freeze

      # @private
      def initialize(object, bits)
        @object = object
        @bits = bits
        freeze
      end

      # @return [Socket, IO, #to_io] the registered object
      attr_reader :object

      # @return [Boolean] a message is there; of an IO: data, a connection to accept, or its end
      def readable? = @bits.anybits?(READABLE)

      # @return [Boolean] a message can be sent; of an IO: bytes can be written
      def writable? = @bits.anybits?(WRITABLE)

      # @return [Boolean] an IO is broken, such as a pipe whose reader is gone; never of a socket
      def error? = @bits.anybits?(ERROR)

      # @return [Array<Symbol>] of :readable, :writable and :error
      def events
        [(:readable if readable?), (:writable if writable?), (:error if error?)].compact
      end

      # @return [String]
      def inspect = "#<#{self.class} #{object.inspect} #{events.join(" ")}>"
    end
  end
end
