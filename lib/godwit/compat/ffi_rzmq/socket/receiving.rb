# frozen_string_literal: true

module ZMQ
  class Socket
    # Receives whole messages from libzmq, and returns their frames one by one. Each call accepts
    # the flag `DONTWAIT`, and returns the number of bytes of the last frame, or -1.
    module Receiving
      # @param string [String] the next frame replaces its content, binary
      def recv_string(string, flags = 0)
        if string.frozen?
          raise FrozenError.new("recv_string: the String is frozen", receiver: string)
        end
        frame = next_frame(:_recv, flags) or return -1
        string.replace(frame.to_s)
        string.bytesize
      end

      # Receives a message, or the rest of one that was begun.
      # @param list [Array<String>] gets the frames, binary
      def recv_strings(list, flags = 0)
        frames = all_frames(:_recv, flags) or return -1
        list.concat(frames.map(&:to_s))
        list.last.bytesize
      end

      # @param message [Message] the next frame replaces its content, without a copy
      def recvmsg(message, flags = 0)
        message = Message.of(message)
        return failed(EFAULT) if message.nil? || message.closed?
        frame = next_frame(:_recv_frame, flags) or return -1
        message.fill(frame, rest?)
        frame.bytesize
      end

      # Receives a message, or the rest of one that was begun, without a copy.
      def recvmsgs(list, flags = 0)
        frames = all_frames(:_recv_frame, flags) or return -1
        frames.each_with_index do |frame, index|
          message = @receiver_class.new
          Message.of(message).fill(frame, index + 1 < frames.size)
          list << message
        end
        frames.last.bytesize
      end

      # Receives a message with a routing envelope, as a ROUTER or DEALER gets it.
      # @param list [Array<Message>] gets the frames after the first empty one
      # @param routing_envelope [Array<Message>] gets the frames up to the first empty one
      def recv_multipart(list, routing_envelope, flags = 0)
        frames = []
        result = recvmsgs(frames, flags)
        return result if result == -1
        border = frames.index { |frame| frame.size.zero? } || frames.size
        routing_envelope.concat(frames[0..border])
        list.concat(frames[border + 1..] || [])
        result
      end

      # @return [Boolean] whether the message that is being read has more frames
      def more_parts? = rest?

      private

      def next_frame(primitive, flags)
        return @rest.shift unless @rest.empty?
        message = receive(primitive, flags)
        return message unless message.is_a?(Array)
        @rest = message
        @rest.shift
      end

      def all_frames(primitive, flags)
        return @rest.shift(@rest.size) unless @rest.empty?
        message = receive(primitive, flags) or return
        message.is_a?(Array) ? message : [message]
      end

      # @return [String, Godwit::Frame, Array, nil] nil on failure
      def receive(primitive, flags)
        godwit = @godwit
        unless godwit
          failed(ENOTSOCK)
          return
        end
        @user = Thread.current
        message = godwit.__send__(primitive, timeout_of(flags))
        message ? @turn &&= :send : failed(EAGAIN)
        message
      rescue Godwit::Error => error
        record(error)
        nil
      end
    end
  end
end
