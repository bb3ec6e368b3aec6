# frozen_string_literal: true

module ZMQ
  # Ruby's Logger, each of whose lines is a message.
  class Logger < ::Logger
    # Its socket is none that sends logs.
    class InvalidSocketError < Error; end

    # The sockets that it takes.
    VALID_SOCKET_CLASSES = [Socket::Pub, Socket::Push, Socket::Pair].freeze

    # @param socket [Socket::Pub, Socket::Push, Socket::Pair]
    def initialize(socket)
      unless VALID_SOCKET_CLASSES.any? { |klass| socket.is_a?(klass) }
        raise InvalidSocketError, "a logger takes a PUB, PUSH or PAIR socket: got #{socket.class}"
      end
      super(nil)
      @logdev = LogDevice.new(socket)
    end

    # What a Logger writes to.
    class LogDevice
      def initialize(socket)
        @socket = socket
      end

      # @return [Boolean] as Socket#send
      def write(line) = @socket.send(line)

      # The socket is its owner's.
      def close
      end
    end
  end
end
