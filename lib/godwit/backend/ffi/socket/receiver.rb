# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Receives whole messages. Callers hold SocketHandle#lock, except for `receive_fast`.
    class SocketReceiver
      RETAINED = 1024 # bytes: a longer frame's memory is freed at once
      RECEIVE_MORE = Options.fetch(:recv_more).id

      attr_accessor :timeout # ms: the socket's `recv_timeout`
      attr_reader :encoding

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

      def attach(raw)
        @raw = raw
        @address = raw.address
      end

      def encoding=(encoding)
        @encoding = encoding
        @binary = encoding.equal?(Encoding::BINARY)
      end

      # The fast path, for an open socket without waiters.
      # @return [String, Array<String>, nil] nil: no message was received, and the caller continues
      #   with the slow path, which may wait or raise
      def receive_fast
        locked = @mutex.try_lock
        return unless locked && @handle.calm? && @waiters.empty? && !@refuses
        @torn = true
        size = Zmq.receive(@incoming_address, @address, DONTWAIT)
        message = message_of(size, false) if size >= 0
        @torn = false
        message
      ensure
        if locked
          drop_rest if @torn # an interrupt came between the frames of a message
          @mutex.unlock
        end
      end

      # @param frames [Boolean] true for Frames, false for Strings
      def try(frames)
        size = @raw.receive(@incoming)
        return AGAIN if size == -EAGAIN
        raise Failed, -size if size < 0
        message_of(size, frames).tap { @handle.settle_turn }
      end

      # @return [Array] up to `wanted` messages; or the Frames of whole messages; or AGAIN
      # @raise [Failed] only if no message was received
      def try_many(wanted, frames)
        message = try(frames)
        return AGAIN if AGAIN.equal?(message)
        batch = (frames && message.is_a?(Array)) ? message : [message]
        wanted = [wanted, Constants::BATCH].min
        bytes = 0
        while batch.size < wanted && bytes < Constants::BATCH_BYTES
          size = Zmq.receive(@incoming_address, @address, DONTWAIT)
          break if size < 0 # no message, or an error that the next call raises
          bytes += size
          message = message_of(size, frames)
          (frames && message.is_a?(Array)) ? batch.concat(message) : batch << message
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

      def message_of(size, frames)
        if @binary && !frames && size > 0 && size <= RETAINED && Zmq.more(@incoming_address) == 0
          return Zmq.bytes(Zmq.data(@incoming_address), size)
        end
        first = frame_of(size, frames)
        @more ? with_rest(first, frames) : first
      end

      # libzmq has received a message's last frame before it delivers the first.
      def with_rest(first, frames)
        all = [first]
        while @more
          size = @raw.receive(@incoming)
          raise Failed, -size if size < 0
          all << frame_of(size, frames)
        end
        all
      end

      def frame_of(size, frames)
        @more = Zmq.more(@incoming_address) == 1
        properties = FramePrimitives.properties(@incoming) if frames
        string = size.zero? ? "".b : Zmq.bytes(Zmq.data(@incoming_address), size)
        if size > RETAINED
          Zmq.zmq_msg_close(@incoming)
          Zmq.zmq_msg_init(@incoming)
        end
        return Frame.allocate.adopt(string, @encoding, @more, properties) if frames
        @binary ? string : string.force_encoding(@encoding)
      end
    end
  end
end
