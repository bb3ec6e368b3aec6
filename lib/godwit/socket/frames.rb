# frozen_string_literal: true

module Godwit
  class Socket
    # Sends and receives messages without copies ({Frame}, {Message}), or frame by frame.
    #
    # Messages stay whole for any number of threads and fibers: {#send_frame} buffers the frames of
    # a message per fiber until the last, and {#recv_frame} returns the rest of a message only to
    # the fiber that began to read that message.
    module Frames
      # The unfinished messages of one fiber on one socket: the frames that it buffers to send, and
      # the remaining frames of the message that it reads.
      Unfinished = Struct.new(:fiber, :outgoing, :incoming)
      private_constant :Unfinished

      # Receives the next frame of the message that this fiber has begun to read, else the first of
      # a new message.
      # @param timeout [Integer, Float, nil] seconds to wait for a new message
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Frame] nil when time is up and `exception: false`. Its `more?` tells whether more
      #   frames follow, which only this fiber can receive
      # @raise [Error] as {Messages#recv}
      def recv_frame(timeout: UNSET, exception: true)
        mine = unfinished
        return next_incoming(mine) if mine&.incoming && !closed?
        frame = _recv_frame(Timeout.milliseconds(timeout)) or
          return timed_out(:recv_frame, exception)
        return frame unless frame.is_a?(Array)
        (mine || new_unfinished).incoming = frame
        frame.shift
      end

      # Receives the messages that have arrived, as one Array of their frames (`more?` is false at
      # the end of each message); waits for the first message only. Allocates one object per frame,
      # and the Array.
      # @param max [Integer] most frames, 1 or more; the last message is complete even if that needs
      #   more. One call gives about 1,024 frames or 64 MiB at most
      # @param timeout [Integer, Float, nil] seconds to wait for the first message
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Array<Frame>] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#recv_many}
      def recv_frames(max = 256, timeout: UNSET, exception: true)
        Errors.check_positive(:recv_frames, "max", "1 frame or more", max)
        _recv_frames([max, 1 << 30].min, Timeout.milliseconds(timeout)) ||
          timed_out(:recv_frames, exception)
      end

      # Receives a message of one frame into a String of the caller's. The call allocates nothing
      # when the String is large enough.
      # @param buffer [String] its content is replaced
      # @param timeout [Integer, Float, nil] seconds
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Integer] bytes received; nil when time is up and `exception: false`
      # @raise [MultipartError] when the message has several frames; the error has them as `frames`
      # @raise [FrozenError, ArgumentTypeError] when the buffer is frozen, or no String; then no
      #   message is lost
      # @raise [Error] as {#recv}
      def recv_into(buffer, timeout: UNSET, exception: true)
        unless buffer.is_a?(String)
          raise Errors.bad_type(:recv_into, "the buffer", "a String", buffer)
        end
        size = _recv_into(buffer, Timeout.milliseconds(timeout))
        raise multipart(:recv_into, size) if size.is_a?(Array)
        size || timed_out(:recv_into, exception)
      end

      # Receives a whole message without copying it.
      # @param (see Messages#recv)
      # @return [Message] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#recv}
      def recv_message(timeout: UNSET, exception: true)
        frames = _recv_frame(Timeout.milliseconds(timeout)) or
          return timed_out(:recv_message, exception)
        Message.of(frames.is_a?(Array) ? frames : [frames])
      end

      # Sends a message frame by frame. With `more: true` this fiber buffers the frame; a call
      # without `more:` sends the buffered frames and its own as one message. When that call fails,
      # the buffer stays, and the call can be repeated.
      # @param data [String, Frame] a later change of a buffered String has no effect
      # @param more [Boolean] whether more frames follow
      # @param timeout [Integer, Float, nil] seconds to send the message
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [self] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#send}
      def send_frame(data, more: false, timeout: UNSET, exception: true)
        unless data.is_a?(String) || data.is_a?(Frame)
          raise ErrorHints.bad_message([data], :send_frame)
        end
        return buffer(data) if more
        mine = unfinished
        _send(mine&.outgoing ? [*mine.outgoing, data] : data, Timeout.milliseconds(timeout), nil) or
          return timed_out(:send_frame, exception)
        mine&.outgoing = nil
        self
      end

      # Drops the frames that {#send_frame} buffers for this fiber, and the rest of the message that
      # {#recv_frame} reads.
      # @return [self]
      def discard_frames
        mine = unfinished
        mine.outgoing = mine.incoming = nil if mine
        self
      end

      # Frozen Strings of at least this size are sent in place; other Strings are copied. A String
      # that is sent in place stays in memory until libzmq has read it: `send(data, track: true)`
      # returns a {Tracker} for that.
      # @return [Integer, nil] bytes; nil: all are copied. {Frame::COPY_THRESHOLD} unless set
      def copy_threshold = _copy_threshold

      # @param bytes [Integer, nil]
      # @raise [ArgumentValueError]
      def copy_threshold=(bytes)
        _set_copy_threshold(Frame.threshold(:copy_threshold=, bytes))
      end

      # @private
      def self.check(_socket, bytes)
        Frame.threshold(:new, UNSET.equal?(bytes) ? Frame::COPY_THRESHOLD : bytes)
      end

      # @private
      def self.start(socket, bytes)
        socket.copy_threshold = bytes
      end

      private

      def unfinished
        fiber = Thread.current[:godwit_fiber] or return
        @unfinished && @unfinished[fiber.__id__]
      end

      # Makes this fiber's Unfinished, and drops those of fibers that have ended. The fiber-local
      # Object in Thread#[] stands for the fiber: it is collected once the fiber has ended.
      def new_unfinished
        fiber = Thread.current[:godwit_fiber] ||= Object.new
        # A weak reference to the Object: a Ractor cannot use the class WeakRef.
        mine = Unfinished.new(ObjectSpace::WeakMap.new.tap { |weak| weak[:fiber] = fiber })
        _exclusive(:frames) do
          _record(:@unfinished) do |known|
            {**known.to_h.select { |_, one| one.fiber.key?(:fiber) }, fiber.__id__ => mine}
          end
        end
        mine
      end

      def next_incoming(mine)
        frame = mine.incoming.shift
        mine.incoming = nil if mine.incoming.empty?
        frame
      end

      def buffer(data)
        raise Errors.build(ClosedError, :send_frame, endpoints.first) if closed?
        raise Errors.build(GoneError, :send_frame) if data.is_a?(Frame) && data.gone?
        data = data.dup.freeze if data.is_a?(String)
        ((unfinished || new_unfinished).outgoing ||= []) << data
        self
      end
    end
  end
end
