# frozen_string_literal: true

module Godwit
  module TTCP
    # The base of {Transmitter} and {Receiver}: a clock, counts, and a result at any time. A
    # measurement runs once.
    class Measurement
      # @return [Integer] bytes of a buffer
      attr_reader :length
      # @return [Integer]
      attr_reader :port

      # Transfers the data and waits for the end.
      # @return [Result] with an error when the peer departs early
      # @raise [SystemCallError, SocketError, TimeoutError] when there is no connection, or the
      #   input or the output fails
      # @raise [StateError] when the measurement ran already
      def run
        raise Errors.build(StateError, :run, nil, "a measurement runs once") if @before || @closed
        @link.open
        start
        transfer
        stop
        result
      rescue Link::Ended => ended
        stop(ended.silence)
        @error = ended.error
        result
      ensure
        close
      end

      # The measurement so far, such as after an Interrupt.
      # @return [Result] frozen
      def result
        usage = @after || Usage.now
        Result.new(bytes: @bytes, seconds: seconds, calls: @link.calls,
          usage: usage - (@before || usage), buffer_address: address, error: @error).freeze
      end

      # Closes the sockets of the measurement. `run` does so at its end.
      # @return [nil]
      def close
        @closed = true
        @link.close
        nil
      end

      private

      def check(operation, port, length, socket_buffer)
        Errors.check_bytes(operation, "length:", length)
        Errors.check_bytes(operation, "socket_buffer:", socket_buffer) if socket_buffer
        return if port.is_a?(Integer) && port.between?(1, 65_535)
        raise Errors.bad_value(operation, "port:", "a port, 1 to 65535", port)
      end

      def link_class(operation, udp, zmq, stream)
        if udp && (zmq || stream)
          raise Errors.of(ArgumentValueError, operation,
            "udp: takes neither zmq: nor input: nor output:")
        end
        return UDPLink if udp
        zmq ? ZMQLink : TCPLink
      end

      def prepare(link_class, length, **settings)
        @length = [length, link_class::MIN_LENGTH].max
        @link = link_class.new(length: @length, **settings)
        @bytes = 0
      end

      def start
        @before = Usage.now
        @start = Timeout.now
      end

      # @param silence [Numeric] seconds at the end that do not count
      def stop(silence = 0)
        @stop = Timeout.now - silence
        @after = Usage.now
      end

      def seconds = @start ? (@stop || Timeout.now) - @start : 0.0

      def address
        [@buffer].pack("p").unpack1("J") if @buffer && RUBY_ENGINE != "jruby"
      end
    end
  end
end
