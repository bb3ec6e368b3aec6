# frozen_string_literal: true

module Godwit
  class Diagnosis
    # Reads a peer's greeting over a raw connection: the mechanism, and with NULL the socket type. A
    # Peek never completes the handshake, so the peer sends it no message.
    class Peek
      NAME = "peek"
      # The greeting of a client with ZMTP 3.1 and NULL (RFC 37).
      GREETING = [0xff, *[0] * 8, 0x7f, 3, 1, "NULL", 0].pack("C10CCa20Cx31").freeze
      # A Peek sends only START first: at a whole GREETING with NULL, a server of another mechanism
      # closes the connection before it sends its own greeting.
      START = GREETING.byteslice(0, 12).freeze
      REST = GREETING.byteslice(12..).freeze
      MECHANISM = (12...32) # offsets of the mechanism's name in the greeting
      COMMAND = 4 # the flags byte of a ZMTP frame that is a command

      def initialize(socket, endpoint)
        @bytes = "".b
        @stream = STREAM.new(context: socket.context, linger: Context::BRIEF_LINGER)
        socket.share_options(@stream, Probe::TRANSPORT)
        @stream.connect_routing_id = NAME
        @stream.connect(endpoint)
        @stream.send_nonblock([NAME, START], exception: false)
      rescue Error
        close
        raise
      end

      # Reads the bytes that have arrived. Never waits.
      def update
        while (message = @stream.recv_nonblock(exception: false)) != :wait_readable
          @bytes << message.last
        end
        reply if mechanism == "NULL" && !@replied
        self
      rescue Error
        self
      end

      # @return [Boolean, nil] whether the peer speaks ZMTP 3; nil: too few bytes have arrived
      def zmtp?
        return if @bytes.empty?
        return false unless @bytes.getbyte(0) == 0xff
        @bytes.getbyte(10) >= 3 if @bytes.size > 10
      end

      # @return [String, nil] the peer's mechanism: NULL, PLAIN, CURVE or another
      def mechanism
        @bytes[MECHANISM].delete("\0") if zmtp? && @bytes.size >= GREETING.bytesize
      end

      def type
        name, properties = command
        return unless name == "READY"
        until properties.empty?
          key, properties = cut(properties, 1)
          value, properties = cut(properties, 4)
          return value.to_sym if key.casecmp?("Socket-Type") && !value.empty?
        end
      end

      # @return [String, nil] the status, such as "400", when the peer's authenticator refuses
      def refusal
        name, reason = command
        cut(reason, 1).first if name == "ERROR"
      end

      def close = @stream&.close

      private

      def reply
        @replied = true
        @stream.send_nonblock([NAME, REST], exception: false)
      end

      # @return [Array(String, String), nil] name and body of the peer's first command
      def command
        return unless mechanism == "NULL"
        flags, size = @bytes[GREETING.bytesize, 2].unpack("CC")
        return unless flags == COMMAND && @bytes.bytesize >= GREETING.bytesize + 2 + size
        cut(@bytes[GREETING.bytesize + 2, size], 1)
      end

      # @return [Array(String, String)] the text behind its size (`width` bytes), and the rest
      def cut(bytes, width)
        size = bytes[0, width].rjust(4, "\0").unpack1("N")
        [bytes[width, size] || "", bytes[(width + size)..] || ""]
      end
    end
  end
end
