# frozen_string_literal: true

require "io/nonblock"

module Godwit
  module TTCP
    # The bytes as they are; the end of the connection is the end of the data.
    # @private
    class TCPLink < Link
      def bind
        @server = named(:bind) { any_address { |any| TCPServer.new(any, @port) } }
        set_options(@server, :RCVBUF)
      end

      def open
        @socket = @host ? connected : accepted
        # A read or write of Ruby is then one of the system, as in C.
        @socket.nonblock = false unless RUBY_ENGINE == "jruby"
        @socket.sync = true
      end

      # @return [Integer] bytes
      def write(data)
        @calls += 1
        @socket.write(data)
      rescue *LEFT => error
        left(error)
      end

      # At once, since the receiver's clock runs until then.
      def finish = @socket.close

      # @return [String, nil] the buffer with data; nil at the end
      def read(buffer)
        @settings[:full_blocks] ? read_block(buffer) : read_part(buffer, @length)
      end

      private

      def connected
        connect(:STREAM) do |socket|
          set_options(socket, :SNDBUF)
          set(socket, :TCP, :NODELAY, 1) if @settings[:nodelay]
        end
      end

      # One sender alone: the next is refused.
      def accepted = named(:accept) { @server.accept }.tap { @server.close }

      def read_part(buffer, length)
        @calls += 1
        @socket.readpartial(length, buffer)
      rescue EOFError
        nil
      rescue *LEFT => error
        left(error)
      end

      # The last block may be shorter.
      def read_block(buffer)
        part = @part ||= String.new(capacity: @length, encoding: Encoding::BINARY)
        buffer.clear
        while buffer.bytesize < @length && read_part(part, @length - buffer.bytesize)
          buffer << part
        end
        buffer unless buffer.empty?
      end
    end
  end
end
