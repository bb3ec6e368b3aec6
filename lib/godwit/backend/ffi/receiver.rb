# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Receiving whole messages. The lock is held.
    class SocketHandle
      BATCH = Constants::BATCH
      BATCH_BYTES = Constants::BATCH_BYTES
      KEPT = 1024 # bytes of the last message that may stay in memory
      private_constant :BATCH, :BATCH_BYTES, :KEPT

      # @return [Object] a String or Frame, an Array of them, or AGAIN
      # @raise [Failed]
      def try_receive(frames)
        message = take_message(frames)
        return AGAIN if AGAIN.equal?(message)
        settle_turn
        message
      end

      # @return [Array] up to `wanted` messages, or frames of whole messages; or AGAIN
      # @raise [Failed] only with none taken
      def try_receive_many(wanted, frames)
        first = try_receive(frames)
        return AGAIN if AGAIN.equal?(first)
        batch = (frames && first.is_a?(Array)) ? first : [first]
        wanted = [wanted, BATCH].min
        bytes = 0
        while batch.size < wanted && bytes < BATCH_BYTES
          if frames
            message = take_message(true)
            break if AGAIN.equal?(message)
            bytes += @taken
            message.is_a?(Array) ? batch.concat(message) : batch << message
          else
            size = Zmq.receive(@incoming_address, @address, DONTWAIT)
            break if size < 0 # an error waits for the next call
            bytes += size
            batch << message_of(size)
          end
        end
        settle_turn
        batch
      rescue Failed
        raise unless batch
        batch
      end

      private

      def drop_rest
        @torn = false
        more = get(RECEIVE_MORE) != 0
        more = receive_part >= 0 && Zmq.zmq_msg_more(@incoming) == 1 while more
      rescue Failed
        nil
      end

      def take_message(frames)
        part = take_part(frames)
        (AGAIN.equal?(part) || !@more) ? part : take_rest(part, frames)
      end

      # libzmq gives the first frame only when all frames are there.
      def take_rest(first, frames)
        parts = [first]
        while @more
          part = take_part(frames)
          raise Failed, EAGAIN if AGAIN.equal?(part)
          parts << part
        end
        parts
      end

      def take_part(frames)
        message = frames ? Zmq.new_message : @incoming
        size = receive_part(message)
        return none(size) if size < 0
        frames ? take_frame(message, size) : taken(size)
      end

      # @return [String] the frame in @incoming
      def taken(size)
        @taken = size
        copy_incoming(size)
      end

      def copy_incoming(size)
        @more = Zmq.more(@incoming_address) == 1
        string = size.zero? ? "".b : Zmq.bytes(Zmq.data(@incoming_address), size)
        if size > KEPT
          Zmq.zmq_msg_close(@incoming)
          Zmq.zmq_msg_init(@incoming)
        end
        @binary ? string : string.force_encoding(@encoding)
      end

      def take_frame(message, size)
        @taken = size
        Frame.take(message, @encoding).tap { |frame| @more = Backend::FFI.handle_of(frame).more }
      end

      def none(error)
        raise Failed, -error unless error == -EAGAIN
        AGAIN
      end
    end
  end
end
