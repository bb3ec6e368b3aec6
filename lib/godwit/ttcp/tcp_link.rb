# frozen_string_literal: true

require "io/nonblock"

module Godwit
  module TTCP
    # The link over TCP. It sends the bytes as they are; the connection's end is the data's end.
    class TCPLink < Link
      def bind
        @server = named(:bind) { any_address { |any| TCPServer.new(any, @port) } }
        set_options(@server, :RCVBUF)
      end

      def open
        @socket = @host ? connected : accepted
        # On a blocking socket, each read and write of Ruby is one system call, as in C.
        @socket.nonblock = false unless RUBY_ENGINE == "jruby"
        @socket.sync = true
      end

      def write(data)
        @calls += 1
        @socket.write(data)
      rescue *DEPARTED => error
        departed(error)
      end

      # Closes the connection at once: the receiver's clock runs until then.
      def finish = @socket.close

      def read(buffer)
        @settings[:full_blocks] ? read_block(buffer) : read_piece(buffer, @length)
      end

      private

      def connected
        connect(:STREAM) do |socket|
          set_options(socket, :SNDBUF)
          set(socket, :TCP, :NODELAY, 1) if @settings[:nodelay]
        end
      end

      # Accepts one sender. The kernel refuses any further sender.
      def accepted = named(:accept) { @server.accept }.tap { @server.close }

      def read_piece(buffer, length)
        @calls += 1
        @socket.readpartial(length, buffer)
      rescue EOFError
        nil
      rescue *DEPARTED => error
        departed(error)
      end

      # Reads a block. The last block may be shorter.
      def read_block(buffer)
        piece = @piece ||= String.new(capacity: @length, encoding: Encoding::BINARY)
        buffer.clear
        while buffer.bytesize < @length && read_piece(piece, @length - buffer.bytesize)
          buffer << piece
        end
        buffer unless buffer.empty?
      end
    end
    private_constant :TCPLink
  end
end
