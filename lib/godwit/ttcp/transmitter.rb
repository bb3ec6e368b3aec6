# frozen_string_literal: true

module Godwit
  module TTCP
    # Sends data to a {Receiver}, a C ttcp, or over TCP to any program.
    class Transmitter < Measurement
      # C ttcp's pattern: the printable characters of ASCII, again and again.
      PATTERN = [*" ".."~"].join.freeze
      private_constant :PATTERN

      # @param host [String] name or address of the receiver
      # @param port [Integer] 1 to 65535
      # @param length [Integer] bytes of a buffer, 1 or more; over UDP at least 5
      # @param count [Integer] buffers, without `input:`
      # @param input [IO, nil] its data is sent; nil: a pattern is sent
      # @param udp [Boolean] UDP instead of TCP; without `input:`
      # @param zmq [Boolean] a DEALER instead of TCP
      # @param nodelay [Boolean] TCP_NODELAY: TCP does not wait for more data; libzmq always sets it
      # @param socket_buffer [Integer, nil] SO_SNDBUF, in bytes; nil: the system's
      # @param debug [Boolean] SO_DEBUG, which root alone may set; not with `zmq:`
      # @param timeout [Numeric, nil] seconds to wait for a connection with `zmq:`; nil: for ever
      # @raise [ArgumentValueError]
      def initialize(host, port: PORT, length: LENGTH, count: COUNT, input: nil, udp: false,
        zmq: false, nodelay: false, socket_buffer: nil, debug: false, timeout: TIMEOUT)
        check(:transmit, port, length, socket_buffer)
        Errors.check_positive(:transmit, "count:", "buffers, 1 or more", count)
        @host = host
        @port = port
        @count = count
        @input = input
        prepare(link_class(:transmit, udp, zmq, input), length, host: host, port: port,
          nodelay: nodelay, socket_buffer: socket_buffer, debug: debug, timeout: timeout)
      end

      private

      def transfer
        @link.begin
        @input ? copy : source
        @link.finish
      end

      def source
        @buffer = (PATTERN * (@length / PATTERN.size + 1)).byteslice(0, @length).freeze
        @count.times { @bytes += @link.write(@buffer) }
      end

      def copy
        @buffer = String.new(capacity: @length, encoding: Encoding::BINARY)
        @bytes += @link.write(@buffer) while read
      end

      def read
        @input.readpartial(@length, @buffer)
      rescue EOFError
        nil
      end
    end
  end
end
