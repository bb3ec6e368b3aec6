# frozen_string_literal: true

module ZMQ
  class Socket
    # Sends messages. Each call returns the number of bytes of the last frame, or -1. Each call
    # accepts the flag `DONTWAIT`; a call that sends one frame also accepts `SNDMORE`.
    #
    # The socket stores frames sent with `SNDMORE`, and sends them with the last one as one message.
    # As in libzmq, the first frame waits for a peer with room, or fails. A ROUTER without such a
    # peer fails at the last frame.
    module Sending
      def send_string(string, flags = 0) = send_frame(string || "", flags)

      # Sends Strings as one message.
      def send_strings(frames, flags = 0)
        return -1 if frames.nil? || frames.empty?
        send_frames(frames.map { |frame| frame || "" }, flags)
      end

      # Sends a message, which is empty afterwards. It keeps its bytes when the call fails.
      def sendmsg(message, flags = 0)
        message = Message.of(message)
        return failed(EFAULT) if message.nil? || message.closed?
        result = send_frame(message.outgoing, flags)
        message.empty if result >= 0
        result
      end

      # Sends messages as the frames of one.
      def sendmsgs(frames, flags = 0)
        return -1 if frames.nil? || frames.empty?
        messages = frames.map { |frame| Message.of(frame) }
        return failed(EFAULT) if messages.any? { |message| message.nil? || message.closed? }
        result = send_frames(messages.map(&:outgoing), flags)
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

      def send_frame(frame, flags)
        return hold(frame, flags) if flags.anybits?(SNDMORE)
        transmit(@held.empty? ? frame : [*@held, frame], frame, flags)
      end

      def send_frames(frames, flags) = transmit([*@held, *frames], frames.last, flags)

      # @param last [String, Godwit::Frame] the last frame, whose size is read before the send: a
      #   sent frame is gone
      def transmit(message, last, flags)
        godwit = @godwit
        return failed(ENOTSOCK) unless godwit
        size = last.bytesize if last.is_a?(String) || last.is_a?(Godwit::Frame)
        @user = Thread.current
        # The program must read the rest of the last message first.
        return failed(EFSM) if @turn && !@rest.empty?
        # On EAGAIN the held frames stay, and the program can send the last frame again.
        return failed(EAGAIN) unless godwit.__send__(:_send, message, timeout_of(flags), nil)
        @held = [] unless @held.empty?
        @turn &&= :receive
        size
      rescue Godwit::Error => error
        @held = []
        record(error)
      end

      def hold(frame, flags)
        godwit = @godwit
        return failed(ENOTSOCK) unless godwit
        return failed(EINVAL) unless frame.is_a?(String) || frame.is_a?(Godwit::Frame)
        refusal = refusal_of(godwit, flags) if @held.empty?
        return failed(refusal) if refusal
        size = frame.bytesize
        @held << (frame.is_a?(String) ? frame.dup.freeze : frame)
        size
      rescue Godwit::Error => error
        record(error)
      end

      def refusal_of(godwit, flags)
        return ENOTSUP if Godwit::ErrorHints::RECEIVE_ONLY.include?(godwit.type)
        return EFSM if @turn && ((@turn == :receive && !@relaxed) || rest?)
        limit = timeout_of(flags) || godwit.__send__(:_get_option, SNDTIMEO)
        EAGAIN unless godwit.__send__(:_wait, POLLOUT, limit)
      end
    end
  end
end
