# frozen_string_literal: true

module ZMQ
  class Socket
    # Receives whole messages from libzmq, and hands out their parts one by one. Each call takes the
    # flag `DONTWAIT`, and returns the number of bytes of the last part, or -1.
    module Receiving
      # @param string [String] the next part replaces its content, binary
      def recv_string(string, flags = 0)
        if string.frozen?
          raise FrozenError.new("recv_string: the String is frozen", receiver: string)
        end
        part = next_part(:recv_within, flags) or return -1
        string.replace(part.to_s)
        string.bytesize
      end

      # Receives a message, or the rest of one that was begun.
      # @param list [Array<String>] gets the parts, binary
      def recv_strings(list, flags = 0)
        parts = all_parts(:recv_within, flags) or return -1
        list.concat(parts.map(&:to_s))
        list.last.bytesize
      end

      # @param message [Message] the next part replaces its content, without a copy
      def recvmsg(message, flags = 0)
        message = Message.of(message)
        return failed(EFAULT) if message.nil? || message.closed?
        part = next_part(:recv_frames_within, flags) or return -1
        message.fill(part, rest?)
        part.bytesize
      end

      # Receives a message, or the rest of one that was begun, without a copy.
      def recvmsgs(list, flags = 0)
        parts = all_parts(:recv_frames_within, flags) or return -1
        parts.each_with_index do |part, index|
          message = @receiver_class.new
          Message.of(message).fill(part, index + 1 < parts.size)
          list << message
        end
        parts.last.bytesize
      end

      # Receives a message with a routing envelope, as a ROUTER or DEALER gets it.
      # @param list [Array<Message>] gets the parts after the first empty one
      # @param routing_envelope [Array<Message>] gets the parts up to the first empty one
      def recv_multipart(list, routing_envelope, flags = 0)
        parts = []
        result = recvmsgs(parts, flags)
        return result if result == -1
        border = parts.index { |part| part.size.zero? } || parts.size
        routing_envelope.concat(parts[0..border])
        list.concat(parts[border + 1..] || [])
        result
      end

      # @return [Boolean] whether the message that is being read has more parts
      def more_parts? = rest?

      private

      # @return [String, Godwit::Frame, nil] nil on failure
      def next_part(primitive, flags)
        return @rest.shift unless @rest.empty?
        message = receive(primitive, flags)
        return message unless message.is_a?(Array)
        @rest = message
        @rest.shift
      end

      # @return [Array<String, Godwit::Frame>, nil] nil on failure
      def all_parts(primitive, flags)
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
        message = godwit.public_send(primitive, patience(flags))
        message ? @turn &&= :send : failed(EAGAIN)
        message
      rescue Godwit::Error => error
        note(error)
        nil
      end
    end
  end
end
