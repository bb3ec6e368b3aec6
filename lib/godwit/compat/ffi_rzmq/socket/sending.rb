# frozen_string_literal: true

module ZMQ
  class Socket
    # Sending. Each call gives the bytes of the part it sent last, or -1.
    #
    # Parts sent with `SNDMORE` are held back here until the last one, then all go as one message.
    # Whether a peer can take the message is asked (and waited for) at the first part, as in libzmq;
    # that a ROUTER has no such peer is told at the last.
    module Sending
      # @param string [String]
      # @param flags [Integer] `DONTWAIT`, `SNDMORE`
      # @return [Integer] bytes, or -1
      def send_string(string, flags = 0)
        transmit(string || "", flags)
      end

      # Sends Strings as one message.
      # @param parts [Array<String>]
      # @param flags [Integer] `DONTWAIT`
      # @return [Integer] bytes of the last part, or -1
      def send_strings(parts, flags = 0)
        return -1 if parts.nil? || parts.empty?
        send_whole(parts.map { |part| part || "" }, flags)
      end

      # Sends a message, which is empty afterwards. When the call fails it still holds what it held.
      # @param message [Message]
      # @param flags [Integer] `DONTWAIT`, `SNDMORE`
      # @return [Integer] bytes, or -1
      def sendmsg(message, flags = 0)
        message = Message.of(message)
        return failed(EFAULT) if message.nil? || message.closed?
        result = transmit(message.outgoing, flags)
        message.sent if result >= 0
        result
      end

      # Sends messages as the parts of one.
      # @param parts [Array<Message>]
      # @param flags [Integer] `DONTWAIT`
      # @return [Integer] bytes of the last part, or -1
      def sendmsgs(parts, flags = 0)
        return -1 if parts.nil? || parts.empty?
        messages = parts.map { |part| Message.of(part) }
        return failed(EFAULT) if messages.any? { |message| message.nil? || message.closed? }
        result = send_whole(messages.map(&:outgoing), flags)
        messages.each(&:sent) if result >= 0
        result
      end

      # {#sendmsg}; the message is closed then, also when the call fails.
      # @param message [Message]
      # @param flags [Integer] `DONTWAIT`, `SNDMORE`
      # @return [Integer] bytes, or -1
      def send_and_close(message, flags = 0)
        result = sendmsg(message, flags)
        message.close
        result
      end

      private

      # What was sent must not be counted later: a frame is gone then.
      def transmit(part, flags)
        godwit = @godwit
        return failed(ENOTSOCK) unless godwit
        return hold(godwit, part, flags) if flags.anybits?(SNDMORE)
        size = part.bytesize if part.is_a?(String) || part.is_a?(Godwit::Frame)
        if deliver(godwit, @held.empty? ? part : [*@held, part], flags)
          size
        else
          -1
        end
      end

      def send_whole(parts, flags)
        godwit = @godwit
        return failed(ENOTSOCK) unless godwit
        last = parts.last
        size = last.bytesize if last.is_a?(String) || last.is_a?(Godwit::Frame)
        deliver(godwit, [*@held, *parts], flags) ? size : -1
      end

      # When nobody can take it, what is held stays held, and the last part can be sent again.
      def deliver(godwit, message, flags)
        @user = Thread.current
        if @turn && !@rest.empty?
          failed(EFSM) # the rest of what was received is to be read first
          return false
        end
        unless godwit.__send__(:_send, message, dontwait?(flags) ? 0 : nil, nil)
          failed(EAGAIN)
          return false
        end
        @held = [] unless @held.empty?
        @turn &&= :receive
        true
      rescue Godwit::Error => error
        @held = []
        note(error)
        false
      end

      def hold(godwit, part, flags)
        return failed(EINVAL) unless part.is_a?(String) || part.is_a?(Godwit::Frame)
        if @held.empty?
          refusal = refusal_of(godwit, flags)
          return failed(refusal) if refusal
        end
        size = part.bytesize
        @held << (part.is_a?(String) ? part.dup.freeze : part)
        size
      rescue Godwit::Error => error
        note(error)
      end

      # @return [Integer, nil] an errno
      def refusal_of(godwit, flags)
        return ENOTSUP if Godwit::ErrorHints::RECEIVE_ONLY.include?(godwit.type)
        return EFSM if @turn && ((@turn == :receive && !@relaxed) || !@rest.empty?)
        patience = dontwait?(flags) ? 0 : godwit.__send__(:_get_option, SNDTIMEO)
        EAGAIN unless godwit.__send__(:_wait, POLLOUT, patience)
      end
    end
  end
end
