# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # One direction of a proxy, and the message that it has in hand: at most one, taken whole and
    # not yet sent. Only the proxy's loop uses it.
    class ProxyDirection
      EHOSTUNREACH = Errno::EHOSTUNREACH::Errno
      ENOMEM = Errno::ENOMEM::Errno

      attr_reader :from, :to

      # @param live [Boolean] whether the one can receive, the other send
      # @param proxy [ProxyHandle] counts each message
      def initialize(from, to, capture, live, proxy)
        @from = from
        @to = to
        @capture = capture
        @live = live
        @proxy = proxy
        @parts = []
        @count = 0
        @left = [] # frames of the messages that go on instead of the last one
      end

      # Whether there is a received message to take.
      def left? = @left.any?

      def live? = @live

      def in_hand? = @count > 0

      # Takes one message whole.
      # @return [Integer] an errno, or 0
      def take
        @captured = @observed = false
        @bytes = 0
        return take_left if left?
        loop do
          part = next_part
          size = @from.receive_part(part)
          if size < 0
            let_go # in mid-message only when the context ends
            return -size
          end
          @bytes += size
          @count += 1
          break if Zmq.zmq_msg_more(part).zero?
        end
        @left = (@proxy.split { frames } if @count == 2) || []
        @proxy.received(@from, @bytes, [@left.size, 1].max)
        return 0 unless left?
        let_go
        @bytes = 0
        take_left
      end

      # Sends what is in hand.
      # @return [Integer] an errno, or 0; EAGAIN: it stays in hand
      def pass
        if @capture && !@captured
          error = send_whole(@capture, true)
          return error unless error.zero?
          @captured = true
          @proxy.sent(@capture, @bytes)
        end
        # After the capture socket, so that both have the same messages.
        @observed ||= @proxy.observe { frames } || true
        error = send_whole(@to, false)
        case error
        when 0 then @proxy.sent(@to, @bytes)
        when EHOSTUNREACH then @proxy.drop # one peer that left is no reason to fail all others
        else return error
        end
        let_go
        0
      end

      # Of a proxy that was collected.
      def free
        @parts.each { |part| Zmq.zmq_msg_close(part) }
        @parts.clear
      end

      private

      def next_part = @parts[@count] ||= Zmq.new_message

      def take_left
        @left.shift.each do |frame|
          part = next_part
          return ENOMEM if Zmq.zmq_msg_init_size(part, frame.bytesize) != 0
          Zmq.zmq_msg_data(part).write_bytes(frame) unless frame.empty?
          @bytes += frame.bytesize
          @count += 1
        end
        0
      end

      def frames
        @parts.first(@count).map do |part|
          size = Zmq.zmq_msg_size(part)
          size.zero? ? "".b : Zmq.zmq_msg_data(part).read_bytes(size)
        end
      end

      # All or nothing: EAGAIN means that nothing of it went. A peer that vanishes in mid-message
      # takes the first frames with it; then it starts again from the first (ADR 3), so all but
      # the last go as copies.
      def send_whole(socket, keep)
        loop do
          error = sent = 0
          while sent < @count
            flags = (sent + 1 < @count) ? SNDMORE : 0
            part = @parts[sent]
            error = if keep || flags == SNDMORE
              send_copy(socket, part, flags)
            else
              socket.send_message(part, flags)
            end
            break unless error.zero?
            sent += 1
          end
          return error if error != EAGAIN || sent.zero?
          next unless socket.type == PUSH || socket.type == DEALER
          socket.push_rest(@count - sent - 1) # libzmq throws these away
        end
      end

      def send_copy(socket, part, flags)
        @copy ||= Zmq.new_message
        return ::FFI.errno if Zmq.zmq_msg_copy(@copy, part) != 0
        error = socket.send_message(@copy, flags)
        Zmq.zmq_msg_close(@copy) unless error.zero?
        Zmq.zmq_msg_init(@copy)
        error
      end

      def let_go
        @parts.first(@count).each do |part|
          Zmq.zmq_msg_close(part)
          Zmq.zmq_msg_init(part)
        end
        @count = 0
      end
    end
  end
end
