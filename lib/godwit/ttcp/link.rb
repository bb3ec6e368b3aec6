# frozen_string_literal: true

module Godwit
  module TTCP
    # The socket of a sender or of a receiver, for one protocol. A sender calls `open`, `begin`,
    # `write` and `finish`; a receiver `bind`, `open`, which waits for the sender, and `read`.
    class Link
      # Raised when the peer has departed or was silent; `error` says which.
      class Ended < StandardError
        attr_reader :error
        # @return [Numeric] seconds without data before the error
        attr_reader :silence

        def initialize(error, silence = 0)
          @error = error
          @silence = silence
          super(error.message)
        end
      end

      MIN_LENGTH = 1 # least bytes of a buffer
      # System errors which mean that the peer has departed.
      DEPARTED = [Errno::EPIPE, Errno::ECONNRESET, Errno::ECONNREFUSED, Errno::ETIMEDOUT].freeze

      # @param host [String, nil] of the receiver; nil for the receiver itself
      # @param settings [Hash] see {Transmitter#initialize}, {Receiver#initialize}
      def initialize(length:, port:, host: nil, **settings)
        @length = length
        @host = host
        @port = port
        @settings = settings
        @calls = 0
      end

      attr_reader :calls # the number of reads and writes

      def begin = nil
      def finish = nil
      def close = [@server, @socket].compact.each(&:close)

      private

      def peer
        return "port #{@port}" unless @host
        @host.include?(":") ? "[#{@host}]:#{@port}" : "#{@host}:#{@port}"
      end

      # @return [SystemCallError] that names the operation, as C ttcp does, and the peer
      def failure(operation, error)
        number = error.is_a?(Class) ? error::Errno : error.errno
        Errors.build(number, operation, peer)
      end

      def named(operation)
        yield
      rescue SystemCallError => error
        raise failure(operation, error), cause: nil
      end

      def departed(error) = raise(Ended.new(failure(:IO, error)), cause: nil)

      # Tries the addresses of the host until one connects.
      def connect(type)
        addresses = Addrinfo.getaddrinfo(@host, @port, nil, type)
        begin
          address = addresses.shift
          socket = ::Socket.new(address.pfamily, type)
          yield socket
          named(:connect) { socket.connect(address) }
          socket
        rescue SystemCallError
          socket&.close
          addresses.empty? ? raise : retry
        end
      end

      # Yields the address of all interfaces: "::", which receives IPv4 too, or else "0.0.0.0".
      def any_address
        yield "::"
      rescue Errno::EAFNOSUPPORT, Errno::EADDRNOTAVAIL
        yield "0.0.0.0"
      end

      def set_options(socket, buffer)
        size = @settings[:socket_buffer]
        set(socket, :SOCKET, buffer, size) if size
        set(socket, :SOCKET, :DEBUG, 1) if @settings[:debug]
      end

      def set(socket, level, name, value)
        prefix = (level == :TCP) ? "TCP" : "SO"
        named(:"setsockopt #{prefix}_#{name}") { socket.setsockopt(level, name, value) }
      end
    end
    private_constant :Link
  end
end
