# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Sending whole messages. The lock is held. ADR 3 says what to do when a peer vanishes in
    # mid-message.
    class SocketHandle
      DRAIN_EVERY = Constants::SUBSCRIPTIONS_EVERY / 1000.0
      private_constant :DRAIN_EVERY

      attr_reader :subscriptions

      # @return [Boolean] whether a REQ's message was cut in the middle: it must be recreated
      def cut? = @cut

      # Sends Strings up to the first message that is none or does not go.
      # @return [Integer] its index
      def send_strings(messages, index, last)
        return index unless takes_string?
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

      # Every send begins with it.
      def begin_send
        stop_counting
        return unless @publisher
        now = Clock.now
        return if now - @drained < DRAIN_EVERY
        @drained = now
        drain_subscriptions
      end

      # One try.
      # @return [Integer] 0, or an errno; EAGAIN with nothing of the message sent
      def try_send(message)
        error = try_parts(message)
        return error unless error == EAGAIN && !cut?
        # libzmq looks at its mailbox only now and then when it sends: empty it before a wait.
        events
        try_parts(message)
      end

      # Sends empty frames to the end of a cut message.
      def push_rest(left)
        left.downto(1) { |more| send_bytes("", (more > 1) ? SNDMORE : 0) }
      end

      # Counts the subscriptions among the messages that peers send up to a PUB, and drops all.
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
        -rc
      end

      private

      def start_sending
        @torn = @cut = false
        @subscriptions = @drained = 0
      end

      def try_parts(message)
        return send_bytes(message, 0) if message.is_a?(String)
        parts = message.is_a?(Array) ? message : [message]
        single = parts.first if parts.size == 1
        return send_whole(parts) if !single.is_a?(Frame) || single.frozen?
        Backend::FFI.handle_of(single).give { |given| send_message(given, 0) }
      end

      def send_whole(parts)
        loop do
          error, tried = send_parts(parts)
          parts.each { |part| sent(part) } if error.zero?
          return error if error != EAGAIN || tried == 1
          @cut = @type == REQ
          return EAGAIN if @cut
          push_rest(parts.size - tried) if @type == PUSH || @type == DEALER
        end
      end

      # A frozen frame stays.
      def sent(part)
        Backend::FFI.handle_of(part).sent if part.is_a?(Frame) && !part.frozen?
      end

      # Sends copies of the frames, which share their bytes: a message that is cut is sent again.
      # @return [Array(Integer, Integer)] an errno or 0, and how many parts were tried
      def send_parts(parts)
        copies = []
        parts.each do |part|
          copies << (part.is_a?(Frame) ? Backend::FFI.handle_of(part).share : part)
        end
        error = tried = 0
        while error.zero? && tried < parts.size
          part = copies[tried]
          flags = (tried + 1 < parts.size) ? SNDMORE : 0
          error = part.is_a?(String) ? send_bytes(part, flags) : send_message(part, flags)
          tried += 1
        end
        [error, tried]
      ensure
        copies.each { |copy| Zmq.zmq_msg_close(copy) unless copy.is_a?(String) }
      end
    end
  end
end
