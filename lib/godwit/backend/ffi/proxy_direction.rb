# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # One way through a proxy, and the message that it has in hand: at most one, taken whole and
      # not yet sent. Only the proxy's loop uses it.
      # @private
      class ProxyWay
        EHOSTUNREACH = Errno::EHOSTUNREACH::Errno
        ENOMEM = Errno::ENOMEM::Errno

        attr_reader :from, :to

        # @param live whether the one can receive, the other send
        # @param counters [ProxyHandle] what is told of each message
        def initialize(from, to, capture, live, counters)
          @from = from
          @to = to
          @capture = capture
          @live = live
          @counters = counters
          @parts = []
          @count = 0
          @left = [] # frames of the messages that go on instead of the last one
        end

        # Whether there is something to take that has been received.
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
            part = (@parts[@count] ||= Zmq.new_message)
            size = @from.receive_part(part)
            if size < 0
              let_go # in mid-message only when the context ends
              return -size
            end
            @bytes += size
            @count += 1
            break if Zmq.zmq_msg_more(part).zero?
          end
          @left = (@counters.split { frames } if @count == 2) || []
          @counters.received(@from, @bytes, [@left.size, 1].max)
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
            @counters.sent(@capture, @bytes)
          end
          # So the observer counts what the capture socket got.
          @observed ||= @counters.observe { frames } || true
          error = send_whole(@to, false)
          if error == EHOSTUNREACH
            @counters.drop # one peer that left is no reason to fail all others
          elsif error.zero?
            @counters.sent(@to, @bytes)
          else
            return error
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

        def take_left
          @left.shift.each do |frame|
            part = (@parts[@count] ||= Zmq.new_message)
            return ENOMEM if Zmq.zmq_msg_init_size(part, frame.bytesize) != 0
            Zmq.zmq_msg_data(part).write_bytes(frame) unless frame.empty?
            @bytes += frame.bytesize
            @count += 1
          end
          0
        end

        def frames = @parts.first(@count).map { |part| bytes_of(part) }

        def bytes_of(part)
          size = Zmq.zmq_msg_size(part)
          size.zero? ? "".b : Zmq.zmq_msg_data(part).read_bytes(size)
        end

        # All or nothing: EAGAIN means that nothing of it went. A peer that vanishes in mid-message
        # takes the first frames with it; then it starts again from the first (ADR 3), so all but
        # the last go as copies.
        def send_whole(socket, keep)
          loop do
            error = sent = 0
            while sent < @count
              flags = (sent + 1 < @count) ? SNDMORE : 0
              error =
                (
                  if keep || flags == SNDMORE
                    send_copy(socket, @parts[sent], flags)
                  else
                    send_part(socket, @parts[sent], flags)
                  end
                )
              break unless error.zero?
              sent += 1
            end
            return error if error != EAGAIN || sent.zero?
            next unless socket.type == PUSH || socket.type == DEALER
            # libzmq throws these away
            (@count - sent - 1).downto(1) do |left|
              Zmq.zmq_send(socket.zmq, "", 0, ((left > 1) ? SNDMORE : 0) | DONTWAIT)
            end
          end
        end

        def send_part(socket, part, flags)
          loop do
            return 0 if Zmq.zmq_msg_send(part, socket.zmq, flags | DONTWAIT) >= 0
            error = ::FFI.errno
            return error unless socket.interrupted?(error)
          end
        end

        def send_copy(socket, part, flags)
          @copy ||= Zmq.new_message
          return ::FFI.errno if Zmq.zmq_msg_copy(@copy, part) != 0
          error = send_part(socket, @copy, flags)
          Zmq.zmq_msg_close(@copy) unless error.zero?
          Zmq.zmq_msg_init(@copy)
          error
        end

        def let_go
          @count.times do |index|
            Zmq.zmq_msg_close(@parts[index])
            Zmq.zmq_msg_init(@parts[index])
          end
          @count = 0
        end
      end
    end
  end
end
