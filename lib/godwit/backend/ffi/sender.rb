# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Sending: whole messages, each try with the lock held. ADR 3 tells what a peer that goes in
      # mid-message asks for.
      # @private
      class SocketHandle
        DRAIN_EVERY = Constants::SUBSCRIPTIONS_EVERY / 1000.0
        private_constant :DRAIN_EVERY

        # REQ: the libzmq socket may still take a peer that is gone for the one that replies.
        attr_accessor :stale_reply_pipe

        def cut? = @repair == :cut

        # Sends Strings up to the first that is none or does not go. The lock is held.
        # @return [Integer] where it stopped
        def send_strings(messages, index, last)
          return index unless @repair == :sound && plain?
          while index < last
            message = messages[index]
            unless message.is_a?(String) &&
                Zmq.send_string(@address, message, message.bytesize, DONTWAIT) >= 0
              break
            end
            index += 1
          end
          index
        end

        # What every send begins with.
        def begin_send
          @peers&.stop
          return unless @publisher
          now = Clock.now
          return if now - @drained < DRAIN_EVERY
          @drained = now
          drain_subscriptions
        end

        # One try, the lock held.
        # @return [Integer] 0, or an errno; EAGAIN with nothing of the message sent
        def try_send(message)
          if @repair == :sound && message.is_a?(String) &&
              Zmq.send_string(@address, message, message.bytesize, DONTWAIT) >= 0
            return 0
          end
          error = try_parts(message)
          return error unless error == EAGAIN && !cut?
          settle
          # libzmq looks at its mailbox only now and then when it sends: empty it before a wait
          events
          settle
          try_parts(message)
        end

        # A REQ that was cut in mid-message, is bound and so was not made anew.
        def repair
          push_rest(@cut_left)
          @repair = @correlate ? :owes_end : :owes_delimiter
          @repair = :owes_relax if @cut_left > 0
          @stale_reply_pipe = true
        end

        # What peers send up to a PUB is counted if it is a subscription, and dropped.
        # @return [Integer] the errno that ended it: EAGAIN when there is nothing more
        def drain_subscriptions
          before = @subscriptions
          while (rc = receive_part) >= 0
            next if rc.zero?
            first = Zmq.zmq_msg_data(@incoming).get_uint8(0)
            if first == 1
              @subscriptions += 1
            elsif first.zero? && @subscriptions > 0
              @subscriptions -= 1
            end
          end
          @queue.wake_counting if @subscriptions != before
          settle # a sender may wait for the edge that this took
          -rc
        end

        attr_reader :subscriptions

        private

        def start_sending
          @repair = :sound
          @torn = false
          @relaxed = @correlate = @stale_reply_pipe = false
          @subscriptions = 0
          @drained = 0
        end

        def send_bytes(bytes, flags)
          again = true
          while again
            @outcome = Zmq.zmq_send(@zmq, bytes, bytes.bytesize, flags | DONTWAIT)
            error = (@outcome < 0) ? ::FFI.errno : 0
            again = interrupted?(error)
          end
          error
        end

        # A copy, which shares its bytes: of a message that must be sent again from part 1 the frame
        # is needed once more.
        def send_frame(frame, flags)
          copy = Frame.handle_of(frame).copy
          send_message(copy, flags)
        ensure
          Zmq.zmq_msg_close(copy) if copy
        end

        def send_message(message, flags)
          again = true
          while again
            @outcome = Zmq.zmq_msg_send(message, @zmq, flags | DONTWAIT)
            error = (@outcome < 0) ? ::FFI.errno : 0
            again = interrupted?(error)
          end
          error
        end

        def send_part(part, flags)
          part.is_a?(String) ? send_bytes(part, flags) : send_frame(part, flags)
        end

        def push_rest(left)
          left.downto(1) { |more| send_bytes("", (more > 1) ? SNDMORE : 0) }
        end

        def set_relaxed(relaxed)
          OptionKinds.set(@zmq, OptionKinds.fetch(RELAXED), relaxed ? 1 : 0)
        end

        def repair_request
          case @repair
          when :cut then EAGAIN
          # It takes the next frame for a later part: write the delimiter ourselves.
          when :owes_delimiter
            error = send_bytes("", SNDMORE)
            @repair = :sound if error.zero?
            error
          # Its request id is unknown to us: an empty frame ends that request, and no REP takes it.
          when :owes_end
            error = send_bytes("", 0)
            return error unless error.zero?
            @repair = :owes_relax
            set_relaxed(true)
          when :owes_relax then set_relaxed(true)
          else 0
          end
        end

        def try_parts(message)
          # One that is not bound drops messages, and gives no errno.
          return EAGAIN if @form == :datagram && events.nobits?(WRITABLE)
          return send_bytes(message, 0) if @repair == :sound && message.is_a?(String)
          parts = message.is_a?(Array) ? message : [message]
          FrameHandle.holding(parts) do
            (@repair == :sound && parts.size == 1) ? try_single(parts.first) : try_held(parts)
          end
        end

        def try_held(parts)
          loop do
            begun = @repair == :owes_delimiter
            error = repair_request
            sent = 0
            error, sent, late = send_parts(parts) if error.zero?
            if @repair == :owes_relax
              set_relaxed(@relaxed)
              @repair = :sound if sent > 1 || error.zero?
            end
            if error.zero?
              parts.each { |part| let_go(part) }
              raise late if late
              return 0
            end
            if error != EAGAIN || sent.zero? || (sent == 1 && !begun)
              raise late if late
              return error
            end
            push_rest(parts.size - sent) if @type == PUSH || @type == DEALER
            if @type == REQ
              @repair = :cut
              @cut_left = parts.size - sent
            end
            raise late if late
            return EAGAIN if @type == REQ
          end
        end

        # What a trap handler raises in mid-message, which no mask puts off, waits for the other
        # parts: else this one's would begin the next message.
        # @return [Array] an errno; how many parts were tried; what is to be raised, or nil
        def send_parts(parts)
          error = tried = 0
          late = @outcome = nil
          begin
            while error.zero? && tried < parts.size
              error = send_part(parts[tried], (tried + 1 < parts.size) ? SNDMORE : 0)
              tried += 1
              # In the step after: CRuby looks for signals where a method returns and a loop turns.
              @outcome = nil
            end
          rescue Failed
            raise
          rescue Exception => raised # standard:disable Lint/RescueException -- raised below
            tried += 1 if @outcome&.>= 0
            raise if late || tried.zero?
            late = raised
            @outcome = nil
            retry
          end
          [error, tried, late]
        end

        # Of a frame that goes its own message is sent: when it does not go libzmq leaves it as it
        # is.
        def try_single(part)
          @outcome = nil
          return send_part(part, 0) if part.is_a?(String) || part.frozen?
          error = send_message(Frame.handle_of(part).message, 0)
          let_go(part) if error.zero?
          error
        ensure
          let_go(part) if @outcome&.>= 0 # a trap handler's error may have come between
        end

        # A frozen frame stays. The frame is held.
        def let_go(part)
          Frame.handle_of(part).let_go(used: true) if part.is_a?(Frame) && !part.frozen?
        end
      end
    end
  end
end
