# frozen_string_literal: true

require "io/wait"

module Godwit
  module TTCP
    # The link over UDP. As in C ttcp, one MARK precedes the data and five follow; any may be lost.
    class UDPLink < Link
      MARK = "ttcp" # 4 bytes: each datagram of data has more
      ENDS = 5
      MIN_LENGTH = MARK.bytesize + 1
      FULL = 0.018 # seconds that C ttcp waits when the network's queue is full

      def bind
        @socket = any_address { |any| bound(any) }
        set_options(@socket, :RCVBUF)
      end

      # Connects the link of a sender. A receiver waits for the first datagram.
      def open
        return @socket.wait_readable unless @host
        @socket = connect(:DGRAM) { |socket| set_options(socket, :SNDBUF) }
      end

      def begin = write(MARK)

      # Sends the last MARKs. The receiver may depart after the first of them: that is no error.
      def finish
        ENDS.times { write(MARK) }
      rescue Ended
        nil
      end

      def write(data)
        @calls += 1
        @socket.send(data, 0)
      rescue Errno::ENOBUFS
        sleep(FULL)
        retry
      rescue *DEPARTED => error
        departed(error)
      rescue SystemCallError => error
        raise failure(:IO, error), cause: nil
      end

      def read(buffer)
        loop do
          datagram(buffer)
          first = @calls == 1
          return buffer if buffer.bytesize > MARK.bytesize
          return unless first
        end
      end

      private

      def bound(any)
        socket = UDPSocket.new(any.include?(":") ? ::Socket::AF_INET6 : ::Socket::AF_INET)
        named(:bind) { socket.bind(any, @port) }
        bound = socket
      ensure
        socket&.close unless bound
      end

      def datagram(buffer)
        while @socket.recv_nonblock(@length, 0, buffer, exception: false) == :wait_readable
          @socket.wait_readable(@settings[:silence]) or silent
        end
        @calls += 1
      end

      def silent
        seconds = @settings[:silence]
        error = TimeoutError.new("no datagram in #{seconds} s: the sender left, or its end is lost",
          operation: :IO, endpoint: peer)
        raise Ended.new(error, seconds)
      end
    end
    private_constant :UDPLink
  end
end
