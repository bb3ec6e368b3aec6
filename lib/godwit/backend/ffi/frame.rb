# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # A zmq_msg_t of a Frame. Its memory is freed here alone: left to the pointer's own finalizer
      # it could go before the Frame's runs.
      # @private
      class FrameHandle
        attr_reader :message, :encoding, :more, :lock

        # Takes the message over.
        def initialize(message, encoding)
          @message = message
          @message.autorelease = false
          @encoding = encoding
          @more = Zmq.zmq_msg_more(message) == 1
          @readers = 0
          @live = true
          @lock = Lock.new
          @round = Collector.made(@bytes = size)
        end

        def self.of(string) = new(Zmq.message_of(string), string.encoding)

        # Runs the block, which sends these parts, while no other thread can send, close or read the
        # frames among them: on JRuby two could send one at once, or close it in mid-message. A
        # frozen one can neither be sent away nor be closed.
        # @raise [Failed] before the block, when one of them is gone, or being read
        def self.holding(parts)
          return yield if parts.none?(Frame)
          held = nil
          frames = parts.grep(Frame)
          handles = frames.filter_map { |frame| Frame.handle_of(frame) unless frame.frozen? }
          # always in the same order, so that two who send the same ones do not wait for one another
          handles = handles.uniq.sort_by(&:address) if handles.size > 1
          locks = handles.map(&:lock)
          locks.each(&:refuse_own)
          held = locks
          locks.each(&:take)
          frames.each do |frame|
            handle = Frame.handle_of(frame)
            unless frame.frozen? ? handle.live? : handle.sendable?
              raise Failed.new(handle.live? ? Errno::EBUSY::Errno : GoneError, object: frame)
            end
          end
          yield
        rescue Lock::Held
          raise Failed.in_handler("frame")
        ensure
          release(held) if held
        end

        # Twice: what a trap handler raises may end the first.
        def self.release(locks)
          locks.each(&:release)
        ensure
          locks.each(&:release)
        end
        private_class_method :release

        def live? = @live

        def sendable? = @live && @readers.zero?

        def size = Zmq.zmq_msg_size(@message)

        def bytes(start = 0, count = size)
          count.zero? ? "".b : (Zmq.zmq_msg_data(@message) + start).read_bytes(count)
        end

        def address = @message.address

        # Reads with the frame held, so that no other thread ends it meanwhile.
        def reading
          locked do
            raise Failed, GoneError unless @live
            yield self
          end
        end

        # For as long as the block runs it can neither be sent nor closed.
        def keep
          locked do
            raise Failed, GoneError unless @live
            @readers += 1
          end
          begin
            yield
          ensure
            locked { @readers -= 1 }
          end
        end

        # Another message with the same bytes.
        # @raise [Failed]
        def share = reading(&:copy)

        # The same of one that is held.
        # @raise [Failed]
        def copy
          copy = Zmq.new_message
          raise Failed, ::FFI.errno if Zmq.zmq_msg_copy(copy, @message) != 0
          copy
        end

        # @raise [Failed] while somebody reads it
        def close
          locked do
            raise Failed, Errno::EBUSY::Errno if @live && @readers > 0
            let_go(used: true)
          end
        end

        # Of a frame that was collected there is no other user; one that is sent is held.
        def let_go(used: false)
          return unless @live
          @live = false
          Collector.gone(@bytes, @round, used: used)
          Zmq.zmq_msg_close(@message)
          @message.free
        end

        # It must not hold the Frame.
        def self.finalizer(handle) = proc { FFI.keep_errno { handle.let_go } }

        private

        # @raise [Failed]
        def locked(&block)
          @lock.synchronize(&block)
        rescue Lock::Held
          raise Failed.in_handler("frame")
        end
      end
    end
  end

  # The primitives of a frame over FFI; the rest is in lib/godwit/frame.rb.
  class Frame
    # @private
    def self.take(message, encoding)
      allocate.tap do |frame|
        frame.__send__(:adopt, Backend::FFI::FrameHandle.new(message, encoding))
      end
    end

    # @private
    attr_reader :handle
    protected :handle

    # What a send needs of it.
    # @private
    def self.handle_of(frame) = frame.__send__(:handle)

    private

    def adopt(handle)
      @handle = handle
      ObjectSpace.define_finalizer(self, Backend::FFI::FrameHandle.finalizer(handle))
    end

    # The threshold is the extension's: here all is copied.
    def _open(data, _threshold)
      raise "this frame is made already" if @handle
      with_error_translation(:new) { adopt(Backend::FFI::FrameHandle.of(data)) }
      Backend::FFI::Collector.relieve
    end

    def initialize_copy(original)
      ObjectSpace.undefine_finalizer(self) # Ruby copies it, and the original needs its message
      @handle = nil
      with_error_translation(:dup) do
        other = Frame.handle_of(original)
        raise Backend::FFI::Failed, GoneError unless other
        @handle = Backend::FFI::FrameHandle.new(other.share, other.encoding)
      end
      ObjectSpace.define_finalizer(self, Backend::FFI::FrameHandle.finalizer(@handle))
      self
    end

    def with_error_translation(operation, &block)
      Backend::FFI::Failures.with_error_translation(operation, self, &block)
    end

    def reading(operation, &block)
      with_error_translation(operation) do
        raise Backend::FFI::Failed, GoneError unless @handle
        @handle.reading(&block)
      end
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
        Backend::FFI::Zmq.zmq_msg_data(handle.message).get_uint8(index)
      end
    end

    # A copy here; the frame stays meanwhile, as with the extension.
    def _in_place
      with_error_translation(:read) do
        raise Backend::FFI::Failed, GoneError unless @handle
        @handle.keep { yield @handle.bytes }
      end
    end

    def _compare(other)
      others = other.is_a?(Frame) ? other.__send__(:reading, :compare, &:bytes) : other.b
      reading(:compare, &:bytes) <=> others
    end

    def _hash = reading(:hash, &:bytes).hash

    def _more? = reading(:more?, &:more)

    def _gone? = !@handle&.live?

    def _property(name)
      reading(:property) do |handle|
        Backend::FFI::Zmq.zmq_msg_gets(handle.message, name)&.force_encoding(Encoding::UTF_8)
      end
    end

    def _routing_id
      reading(:routing_id) do |handle|
        Backend::FFI::Drafts.routing_id(handle.message).then { |id| id unless id.zero? }
      end
    end

    def _group
      reading(:group) do |handle|
        Backend::FFI::Drafts
          .group(handle.message)
          .then { |name| name.force_encoding(handle.encoding) unless name.empty? }
      end
    end

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

  # The primitives of a tracker over FFI. Every String is copied when it is sent, so what was sent
  # is done.
  class Tracker
    private

    def _open
      raise "this tracker is in use already" unless @sent.nil?
      @sent = false
    end

    def _sent
      @sent = true
      self
    end

    def _done? = sent_by_a_send

    # Only what was sent has one.
    def _wait(_timeout) = sent_by_a_send

    def sent_by_a_send
      if @sent.nil?
        raise Errors.build(
          StateError, :tracker, nil, "no send gave this tracker: send(…, track: true) gives one"
        )
      end
      @sent
    end
  end
end
