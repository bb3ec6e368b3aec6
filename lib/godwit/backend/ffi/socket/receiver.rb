# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Receives whole messages. The socket's lock is held.
    class SocketReceiver
      BATCH = Constants::BATCH
      BATCH_BYTES = Constants::BATCH_BYTES
      RETAINED = 1024 # bytes of the last message that may stay in memory
      RECEIVE_MORE = Options.fetch(:recv_more).id
      private_constant :BATCH, :BATCH_BYTES, :RETAINED, :RECEIVE_MORE

      attr_accessor :timeout # ms, of the socket's option
      attr_reader :encoding

      # @param handle [SocketHandle]
      def initialize(handle)
        @handle = handle
        @mutex = handle.lock.mutex
        @waiters = handle.waiting.waiters
        @refuses = handle.publisher?
        @timeout = -1
        @incoming = Zmq.new_message
        @incoming_address = @incoming.address
        @torn = false
        self.encoding = Encoding::BINARY
      end

      # @param raw [RawSocket] from which the receiver receives from now on
      def attach(raw)
        @raw = raw
        @address = raw.address
      end

      def encoding=(encoding)
        @encoding = encoding
        @binary = encoding.equal?(Encoding::BINARY)
      end

      # The fast path, for an open socket without waiters. The caller does not hold the lock.
      # @return [String, Array<String>, nil] nil: no message was received, and the caller continues
      #   with the slow path, which may wait or raise
      def receive_fast
        locked = @mutex.try_lock
        return unless locked && @handle.calm? && @waiters.empty? && !@refuses
        @torn = true
        size = Zmq.receive(@incoming_address, @address, DONTWAIT)
        message = message_of(size) if size >= 0
        @torn = false
        message
      ensure
        if locked
          drop_rest if @torn # an interrupt came between the frames of a message
          @mutex.unlock
        end
      end

      # @return [Object] a String or Frame, an Array of them, or AGAIN
      # @raise [Failed]
      def try(frames)
        message = next_message(frames)
        @handle.settle_turn unless AGAIN.equal?(message)
        message
      end

      # @return [Array] up to `wanted` messages, or frames of whole messages; or AGAIN
      # @raise [Failed] only if no message was received
      def try_many(wanted, frames)
        first = try(frames)
        return AGAIN if AGAIN.equal?(first)
        batch = (frames && first.is_a?(Array)) ? first : [first]
        wanted = [wanted, BATCH].min
        bytes = 0
        while batch.size < wanted && bytes < BATCH_BYTES
          if frames
            message = next_message(true)
            break if AGAIN.equal?(message)
            message.is_a?(Array) ? batch.concat(message) : batch << message
            bytes += @bytes
          else
            size = Zmq.receive(@incoming_address, @address, DONTWAIT)
            break if size < 0 # an error waits for the next call
            bytes += size
            batch << message_of(size)
          end
        end
        @handle.settle_turn
        batch
      rescue Failed
        raise unless batch
        batch
      end

      def free = Zmq.zmq_msg_close(@incoming)

      private

      def drop_rest
        @torn = false
        more = @raw.get(RECEIVE_MORE) != 0
        more = @raw.receive(@incoming) >= 0 && Zmq.zmq_msg_more(@incoming) == 1 while more
      rescue Failed
        nil
      end

      def next_message(frames)
        first = next_frame(frames)
        (AGAIN.equal?(first) || !@more) ? first : with_rest(first, frames)
      end

      # libzmq has the last frame before it delivers the first.
      def with_rest(first, frames)
        all = [first]
        while @more
          frame = next_frame(frames)
          raise Failed, EAGAIN if AGAIN.equal?(frame)
          all << frame
        end
        all
      end

      # @param frames [Boolean] true for a Frame, false for a String
      def next_frame(frames)
        message = frames ? Zmq.new_message : @incoming
        @bytes = @raw.receive(message)
        if @bytes < 0
          raise Failed, -@bytes unless @bytes == -EAGAIN
          return AGAIN
        end
        return copy(@bytes) unless frames
        FrameHandle.frame(message, @encoding).tap do |frame|
          @more = Backend::FFI.handle_of(frame).more
        end
      end

      # @param size [Integer] bytes of the frame in @incoming
      # @return [String, Array<String>] the whole message
      def message_of(size)
        if @binary && size > 0 && size <= RETAINED && Zmq.more(@incoming_address) == 0
          return Zmq.bytes(Zmq.data(@incoming_address), size)
        end
        string = copy(size)
        @more ? with_rest(string, false) : string
      end

      # @return [String] the frame in @incoming
      def copy(size)
        @more = Zmq.more(@incoming_address) == 1
        string = size.zero? ? "".b : Zmq.bytes(Zmq.data(@incoming_address), size)
        if size > RETAINED
          Zmq.zmq_msg_close(@incoming)
          Zmq.zmq_msg_init(@incoming)
        end
        @binary ? string : string.force_encoding(@encoding)
      end
    end
  end
end
