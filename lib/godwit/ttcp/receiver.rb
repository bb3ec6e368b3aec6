# frozen_string_literal: true

module Godwit
  module TTCP
    # Receives the data of one sender: a {Transmitter}, a C ttcp, or over TCP any program.
    class Receiver < Measurement
      # Binds the port on all interfaces, over IPv6 and IPv4.
      # @param port [Integer] 1 to 65535
      # @param length [Integer] bytes of a buffer, 1 or more; over UDP at least 5. With `zmq:` the
      #   sender's length holds
      # @param output [IO, nil] gets the data; nil: the data is discarded
      # @param udp [Boolean] UDP instead of TCP; without `output:`
      # @param zmq [Boolean] a ROUTER instead of TCP
      # @param full_blocks [Boolean] whether to read until a buffer is full; over TCP
      # @param touch [Boolean] whether to read each byte of a received buffer, as C ttcp's -T
      # @param socket_buffer [Integer, nil] SO_RCVBUF, in bytes; nil: the system's
      # @param debug [Boolean] SO_DEBUG, which root alone may set; not with `zmq:`
      # @param silence [Numeric] seconds without a datagram, after the first, that end a run
      # @param on_refusal [#call, nil] gets the name of each further sender that is refused, as that
      #   sender gave it: host and process; with `zmq:`. What it raises ends the transfer
      # @raise [SystemCallError] when the port cannot be bound
      # @raise [ArgumentValueError]
      def initialize(port: PORT, length: LENGTH, output: nil, udp: false, zmq: false,
        full_blocks: false, touch: false, socket_buffer: nil, debug: false, silence: SILENCE,
        on_refusal: nil)
        check(:receive, port, length, socket_buffer)
        @port = port
        @output = output
        @touch = touch
        prepare(link_class(:receive, udp, zmq, output), length, port: port,
          socket_buffer: socket_buffer, debug: debug, full_blocks: full_blocks, silence: silence,
          on_refusal: on_refusal)
        @link.bind
      end

      private

      def transfer
        @buffer = String.new(capacity: @length, encoding: Encoding::BINARY)
        while @link.read(@buffer)
          @bytes += @buffer.bytesize
          @buffer.sum if @touch
          @output&.write(@buffer)
        end
      end
    end
  end
end
