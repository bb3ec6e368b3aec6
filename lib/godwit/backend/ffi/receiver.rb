# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Receiving: whole messages, each try with the lock held.
      # @private
      class SocketHandle
        BATCH = Constants::BATCH
        BATCH_BYTES = Constants::BATCH_BYTES
        RECEIVE_MORE = Options.fetch(:recv_more).id
        KEPT = 1024 # bytes of the last message that may stay in memory
        private_constant :BATCH, :BATCH_BYTES, :RECEIVE_MORE, :KEPT

        # @return [Object] a String or Frame, an Array of them, or AGAIN
        # @raise [Failed]
        def try_receive(frames)
          drop_torn if @torn
          events if @stale_reply_pipe # lets libzmq forget the peer that is gone first
          message = take_message(frames)
          if AGAIN.equal?(message)
            settle
            return AGAIN
          end
          @stale_reply_pipe = false
          settle_turn
          message
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
            unless frames
              size = Zmq.receive(@incoming_address, @address, DONTWAIT)
              # Also an error, which waits for the next call: what came is handed out.
              break if size < 0
              bytes += size
              batch << if @binary && size > 0 && size <= KEPT && Zmq.more(@incoming_address) == 0
                Zmq::MEMORY.get_bytes(Zmq.data(@incoming_address) - 1, size)
              else
                string = copy_incoming(size)
                @more ? take_rest(string, false) : string
              end
              next
            end
            message = begin
              take_message(true)
            rescue Failed
              break
            end
            break if AGAIN.equal?(message)
            bytes += @taken
            message.is_a?(Array) ? batch.concat(message) : batch << message
          end
          settle_turn
          batch
        end

        # @return [Integer] bytes of one frame, in @incoming; or an errno below zero
        def receive_part(message = @incoming)
          again = true
          while again
            rc = Zmq.zmq_msg_recv(message, @zmq, DONTWAIT)
            rc = -::FFI.errno if rc < 0
            again = rc < 0 && interrupted?(-rc)
          end
          rc
        end

        # Whether a signal came within libzmq's call, which is to be made again.
        # @raise [Failed] in a child that was forked in the midst of one of ours: there libzmq says
        #   so for ever
        def interrupted?(error)
          return false unless error == EINTR
          raise Failed, ForkedError if forked?
          true
        end

        private

        # Once it can be: another thread may be receiving now, and then @torn means nothing.
        # What is left of a message whose receiver was interrupted after its first frame. libzmq
        # tells whether there is something.
        def repair_torn
          use { drop_torn }
        rescue Failed # it is closed
          nil
        end

        def drop_torn
          return unless @torn
          @torn = false
          more = get(RECEIVE_MORE) != 0
          more = receive_part >= 0 && Zmq.zmq_msg_more(@incoming) == 1 while more
        end

        def take_message(frames)
          part = take_part(frames)
          (AGAIN.equal?(part) || !@more) ? part : take_rest(part, frames)
        end

        def take_rest(first, frames)
          parts = [first]
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
          (size < 0) ? none(size) : taken(size)
        end

        # The bytes of what was received.
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
          string.delete_suffix!("\0") if @form == :datagram && @more # of an address
          @binary ? string : string.force_encoding(@encoding)
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
