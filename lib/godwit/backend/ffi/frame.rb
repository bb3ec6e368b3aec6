# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The zmq_msg_t of a Frame. Only `release` frees its memory: the pointer's own finalizer could
    # run before the Frame's.
    class FrameHandle
      attr_reader :message, :encoding, :more

      # @param message [::FFI::MemoryPointer] that the handle owns from now on
      def initialize(message, encoding)
        @message = message
        @message.autorelease = false
        @encoding = encoding
        @more = Zmq.zmq_msg_more(message) == 1
        @readers = 0
        @live = true
        @lock = Lock.new("frame")
        Collector.made(@bytes = size)
      end

      def live? = @live

      def sendable? = @live && @readers.zero?

      def size = Zmq.zmq_msg_size(@message)

      def bytes(start = 0, count = size)
        count.zero? ? "".b : (Zmq.zmq_msg_data(@message) + start).read_bytes(count)
      end

      # Runs the block with the lock held, so that no other thread sends or closes the frame.
      # @raise [Failed]
      def reading
        @lock.synchronize do
          raise Failed, GoneError unless @live
          yield self
        end
      end

      # Runs the block while no thread can send or close the frame.
      def retain
        reading { @readers += 1 }
        begin
          yield
        ensure
          @lock.synchronize { @readers -= 1 }
        end
      end

      # @return [::FFI::MemoryPointer] another message with the same bytes
      # @raise [Failed]
      def share
        reading do
          Zmq.new_message.tap do |copy|
            raise Failed, ::FFI.errno if Zmq.zmq_msg_copy(copy, @message) != 0
          end
        end
      end

      # Lends its message to the block, which sends it. When a send fails, libzmq does not change
      # the message.
      # @yieldreturn [Integer] an errno, or 0
      def lend
        reading do
          raise Failed, Errno::EBUSY::Errno if @readers > 0
          yield(@message).tap { |error| release if error.zero? }
        end
      end

      # Releases the frame after a send of its copy.
      def sent = @lock.synchronize { release if @readers.zero? }

      # @raise [Failed] while a block reads it
      def close
        @lock.synchronize do
          raise Failed, Errno::EBUSY::Errno if @live && @readers > 0
          release
        end
      end

      # The lock is held, or the Frame was collected and has no other user.
      def release
        return unless @live
        @live = false
        Collector.gone(@bytes)
        Zmq.zmq_msg_close(@message)
        @message.free
      end

      # @param message [::FFI::MemoryPointer] that the Frame owns from now on
      # @return [Frame]
      def self.frame(message, encoding)
        Frame.allocate.tap { |frame| frame.adopt(new(message, encoding)) }
      end

      # The proc must not refer to the Frame, which would never be collected.
      def self.finalizer(handle) = proc { handle.release }
    end

    # The primitives of a frame.
    module FramePrimitives
      include Failures

      # @private
      def adopt(handle)
        @handle = handle
        ObjectSpace.define_finalizer(self, FrameHandle.finalizer(handle))
      end

      # @private
      def reading(operation, &block)
        with_error_translation(operation) do
          raise Failed, GoneError unless @handle
          @handle.reading(&block)
        end
      end

      private

      # The FFI backend ignores the threshold, since it copies every String.
      def _open(data, _threshold)
        raise "this frame is made already" if @handle
        with_error_translation(:new) do
          adopt(FrameHandle.new(Zmq.message_of(data), data.encoding))
        end
        Collector.collect_if_needed
      end

      def initialize_copy(original)
        ObjectSpace.undefine_finalizer(self) # Ruby copies it, and the original needs its message
        @handle = nil
        with_error_translation(:dup) do
          other = Backend::FFI.handle_of(original) or raise Failed, GoneError
          adopt(FrameHandle.new(other.share, other.encoding))
        end
        self
      end

      def _size = reading(:size, &:size)

      def _slice(start, length)
        reading(:byteslice) do |handle|
          if start.negative? || length.negative? || start + length > handle.size
            raise RangeError, "outside of the frame"
          end
          handle.bytes(start, length)
        end
      end

      def _string = reading(:to_s) { |handle| handle.bytes.force_encoding(handle.encoding) }

      def _byte(index)
        reading(:getbyte) do |handle|
          raise RangeError, "outside of the frame" if index.negative? || index >= handle.size
          Zmq.zmq_msg_data(handle.message).get_uint8(index)
        end
      end

      # Yields a copy. As with the extension, the frame cannot be sent or closed meanwhile.
      def _in_place
        with_error_translation(:read) do
          raise Failed, GoneError unless @handle
          @handle.retain { yield @handle.bytes }
        end
      end

      def _compare(other)
        others = other.is_a?(Frame) ? other.reading(:compare, &:bytes) : other.b
        reading(:compare, &:bytes) <=> others
      end

      def _hash = reading(:hash, &:bytes).hash

      def _more? = reading(:more?, &:more)

      def _gone? = !@handle&.live?

      def _property(name)
        reading(:property) do |handle|
          Zmq.zmq_msg_gets(handle.message, name)&.force_encoding(Encoding::UTF_8)
        end
      end

      # Only messages of draft types have a routing id or a group.
      def _routing_id = reading(:routing_id) { nil }

      def _group = reading(:group) { nil }

      def _encoding = reading(:encoding, &:encoding)

      def _close
        return unless @handle&.live?
        if frozen?
          raise FrozenError.new("can't modify frozen #{self.class}: #{inspect}", receiver: self)
        end
        with_error_translation(:close) { @handle.close }
        nil
      end
    end

    # The primitives of a tracker. A send copies the String, so the tracker is done with the send.
    module TrackerPrimitives
      private

      def _open
        raise "this tracker is in use already" unless @sent.nil?
        @sent = false
      end

      def _sent
        @sent = true
        self
      end

      def _done?
        return @sent unless @sent.nil?
        raise Errors.build(
          StateError, :tracker, nil, "no send gave this tracker: send(…, track: true) gives one"
        )
      end

      def _wait(_timeout) = _done?
    end
  end
end
