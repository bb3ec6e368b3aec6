# frozen_string_literal: true

module ZMQ
  class Socket
    # Sends. Each call returns the number of bytes of the last part, or -1. Each call takes the flag
    # `DONTWAIT`, and a call that sends one part `SNDMORE`.
    #
    # The socket holds parts sent with `SNDMORE` until the last one; then all go as one message. As
    # in libzmq, the first part waits for a peer with room, or fails. That a ROUTER has no such peer
    # shows at the last part.
    module Sending
      def send_string(string, flags = 0) = send_part(string || "", flags)

      # Sends Strings as one message.
      def send_strings(parts, flags = 0)
        return -1 if parts.nil? || parts.empty?
        send_parts(parts.map { |part| part || "" }, flags)
      end

      # Sends a message, which is empty afterwards. It keeps its bytes when the call fails.
      def sendmsg(message, flags = 0)
        message = Message.of(message)
        return failed(EFAULT) if message.nil? || message.closed?
        result = send_part(message.outgoing, flags)
        message.empty if result >= 0
        result
      end

      # Sends messages as the parts of one.
      def sendmsgs(parts, flags = 0)
        return -1 if parts.nil? || parts.empty?
        messages = parts.map { |part| Message.of(part) }
        return failed(EFAULT) if messages.any? { |message| message.nil? || message.closed? }
        result = send_parts(messages.map(&:outgoing), flags)
        messages.each(&:empty) if result >= 0
        result
      end

      # {#sendmsg}, then closes the message, also after a failure.
      def send_and_close(message, flags = 0)
        result = sendmsg(message, flags)
        message.close
        result
      end

      private

      def send_part(part, flags)
        return hold(part, flags) if flags.anybits?(SNDMORE)
        transmit(@held.empty? ? part : [*@held, part], part, flags)
      end

      def send_parts(parts, flags) = transmit([*@held, *parts], parts.last, flags)

      # @param last [String, Godwit::Frame] the last part, whose size is read before the send: a
      #   sent frame is gone
      def transmit(message, last, flags)
        godwit = @godwit
        return failed(ENOTSOCK) unless godwit
        size = last.bytesize if last.is_a?(String) || last.is_a?(Godwit::Frame)
        @user = Thread.current
        # The program must read the rest of the last message first.
        return failed(EFSM) if @turn && !@rest.empty?
        # On EAGAIN the held parts stay, and the program can send the last part again.
        return failed(EAGAIN) unless godwit.send_within(message, patience(flags))
        @held = [] unless @held.empty?
        @turn &&= :receive
        size
      rescue Godwit::Error => error
        @held = []
        note(error)
      end

      def hold(part, flags)
        godwit = @godwit
        return failed(ENOTSOCK) unless godwit
        return failed(EINVAL) unless part.is_a?(String) || part.is_a?(Godwit::Frame)
        refusal = refusal_of(godwit, flags) if @held.empty?
        return failed(refusal) if refusal
        size = part.bytesize
        @held << (part.is_a?(String) ? part.dup.freeze : part)
        size
      rescue Godwit::Error => error
        note(error)
      end

      def refusal_of(godwit, flags)
        return ENOTSUP if Godwit::ErrorHints::RECEIVE_ONLY.include?(godwit.type)
        return EFSM if @turn && ((@turn == :receive && !@relaxed) || rest?)
        limit = patience(flags) || godwit.raw_option(SNDTIMEO)
        EAGAIN unless godwit.wait_for(POLLOUT, limit)
      end
    end
  end
end
