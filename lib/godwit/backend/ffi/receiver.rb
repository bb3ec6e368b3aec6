# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Receiving: whole messages, each try with the lock held.
      # @private
      class SocketHandle
        BATCH = 1024 # most messages at once
        BATCH_BYTES = 64 << 20 # and most bytes, about
        KEPT = 1024 # bytes of the last message that may stay in memory
        private_constant :BATCH, :BATCH_BYTES, :KEPT

        # @return [Object] a String or Frame, an Array of them, or AGAIN
        # @raise [Failed]
        def try_receive(frames)
          events if @stale_reply_pipe # lets libzmq forget the peer that is gone first
          message = take_message(frames)
          if AGAIN.equal?(message)
            settle
            return AGAIN
          end
          @stale_reply_pipe = false
          settle_turn
          message
        rescue Failed
          settle
          raise
        end

        # @return [Array] up to `wanted` messages, or frames of whole messages
        # @raise [Failed] only with none taken
        def try_receive_many(wanted, frames)
          first = try_receive(frames)
          return AGAIN if AGAIN.equal?(first)
          batch = (frames && first.is_a?(Array)) ? first : [first]
          wanted = [wanted, BATCH].min
          bytes = 0
          while batch.size < wanted && bytes < BATCH_BYTES
            message = begin
              take_message(frames)
            rescue Failed
              break # it waits for the next call: what came is handed out
            end
            break if AGAIN.equal?(message)
            bytes += @taken
            (frames && message.is_a?(Array)) ? batch.concat(message) : batch << message
          end
          settle_turn
          batch
        end

        # @return [Integer] bytes of one frame, in @incoming; or an errno below zero
        def receive_part(message = @incoming)
          loop do
            rc = Zmq.zmq_msg_recv(message, @zmq, DONTWAIT)
            return rc if rc >= 0
            error = ::FFI.errno
            return -error unless error == EINTR
          end
        end

        private

        def take_message(frames)
          part = take_part(frames)
          return part if AGAIN.equal?(part) || !@more
          parts = [part]
          while @more # libzmq hands out no first frame before the last one is there
            part = take_part(frames)
            raise Failed, EAGAIN if AGAIN.equal?(part)
            parts << part
          end
          parts
        end

        def take_part(frames)
          return take_frame if frames
          size = receive_part
          return none(size) if size < 0
          @taken = size
          @more = Zmq.zmq_msg_more(@incoming) == 1
          string = size.zero? ? "".b : Zmq.zmq_msg_data(@incoming).read_bytes(size)
          if size > KEPT
            Zmq.zmq_msg_close(@incoming)
            Zmq.zmq_msg_init(@incoming)
          end
          @encoding.equal?(Encoding::BINARY) ? string : string.force_encoding(@encoding)
        end

        def take_frame
          message = Zmq.new_message
          size = receive_part(message)
          return none(size) if size < 0
          @taken = size
          frame = Frame.take(message, @encoding)
          @more = Frame.handle_of(frame).more
          frame
        end

        def none(error)
          raise Failed, -error unless error == -EAGAIN
          AGAIN
        end
      end
    end
  end
end
