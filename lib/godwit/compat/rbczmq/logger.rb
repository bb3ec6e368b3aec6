# frozen_string_literal: true

module ZMQ
  # Ruby's Logger, which sends each of its lines as one message.
  class Logger < ::Logger
    # Raised for a socket of a type that cannot send logs.
    class InvalidSocketError < Error; end

    VALID_SOCKET_CLASSES = [Socket::Pub, Socket::Push, Socket::Pair].freeze

    # @param socket [Socket::Pub, Socket::Push, Socket::Pair]
    def initialize(socket)
      unless VALID_SOCKET_CLASSES.any? { |klass| socket.is_a?(klass) }
        raise InvalidSocketError, "a logger takes a PUB, PUSH or PAIR socket: got #{socket.class}"
      end
      super(nil)
      @logdev = LogDevice.new(socket)
    end

    # The device that a Logger writes to.
    class LogDevice
      def initialize(socket)
        @socket = socket
      end

      # @return [Boolean] the result of Socket#send
      def write(line) = @socket.send(line)

      # Does nothing: the socket belongs to the script.
      def close
      end
    end
  end
end
