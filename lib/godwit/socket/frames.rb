# frozen_string_literal: true

module Godwit
  class Socket
    # Messages without copies ({Frame}, {Message}), and frame by frame.
    #
    # Frame by frame, messages stay whole: {#send_frame} holds the parts of a message back until its last, per fiber, and {#recv_frame}
    # hands out the rest of a message to the fiber that began it. So any number of threads and fibers may do so on one socket.
    module Frames
      UNSET = Timeout::UNSET
      private_constant :UNSET

      # Receives the next frame: of the message that this fiber has begun to read, else the first of a new one.
      # @param timeout [Integer, Float, nil] seconds, where a new message is waited for
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Frame] nil when time is up and `exception: false`. Its `more?` tells whether the message goes on; that rest is handed out
      #   to this fiber only, and forgotten with it
      # @raise [Error] as {Messages#recv}
      def recv_frame(timeout: UNSET, exception: true)
        rest = fiber_parts(:godwit_rest)[__id__]
        return next_of(rest) if rest && !closed?
        frame = _recv_frame(Timeout.milliseconds(timeout)) or return timed_out(:recv_frame, exception)
        return frame unless frame.is_a?(Array)
        fiber_parts(:godwit_rest)[__id__] = frame
        frame.shift
      end

      # Receives what has come, as the frames of whole messages one after the other (`more?` tells where one ends); waits for the
      # first message only. It makes one object for each frame, and the Array.
      # @param max [Integer] frames, 1 or more; the last message is given whole all the same. One call gives about 1,024 frames or 64 MiB
      #   at most
      # @param timeout [Integer, Float, nil] seconds, for the first
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Array<Frame>] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#recv_many}
      def recv_frames(max = 256, timeout: UNSET, exception: true)
        raise Errors.bad_value(:recv_frames, "max", "1 frame or more", max) unless max.is_a?(Integer) && max.positive?
        _recv_frames([max, 1 << 30].min, Timeout.milliseconds(timeout)) || timed_out(:recv_frames, exception)
      end

      # Receives a whole message without copying it.
      # @param timeout [Integer, Float, nil] seconds
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Message] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#recv}
      def recv_message(timeout: UNSET, exception: true)
        frames = _recv_frame(Timeout.milliseconds(timeout)) or return timed_out(:recv_message, exception)
        Message.of(frames.is_a?(Array) ? frames : [frames])
      end

      # Sends a message frame by frame. With `more: true` the frame is held back for this fiber; the call without sends all that it
      # holds as one message. When that fails (its time is up, say) what was held stays held, and the same call can be made again.
      # @param data [String, Frame] a String is held as it is now
      # @param more [Boolean] whether the message goes on
      # @param timeout [Integer, Float, nil] seconds, where it is sent
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [self] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#send}
      def send_frame(data, more: false, timeout: UNSET, exception: true)
        raise Hints.bad_message([data], :send_frame) unless data.is_a?(String) || data.is_a?(Frame)
        held = fiber_parts(:godwit_held)
        if more
          hold(data, held)
        else
          parts = held[__id__]
          _send(parts ? [*parts, data] : data, Timeout.milliseconds(timeout), nil) or return timed_out(:send_frame, exception)
          held.delete(__id__)
        end
        self
      end

      # Forgets the frames that {#send_frame} holds back for this fiber, and the rest of a message that {#recv_frame} has begun.
      # @return [self]
      def discard_frames
        fiber_parts(:godwit_held).delete(__id__)
        fiber_parts(:godwit_rest).delete(__id__)
        self
      end

      # From this size on frozen Strings are sent where they are and not copied; any other String is copied. libzmq then reads them
      # after `send` has returned, and they stay in memory until it has (`send(data, track: true)` tells when).
      # @return [Integer, nil] bytes; nil: all are copied. {Frame::COPY_THRESHOLD} unless set
      def copy_threshold = _copy_threshold

      # @param bytes [Integer, nil]
      # @raise [ArgumentValueError]
      def copy_threshold=(bytes)
        _set_copy_threshold(Frame.threshold(:copy_threshold=, bytes))
      end

      private

      # Thread#[] is the fiber's own, and goes with it.
      # @return [Hash{Integer => Array}] by id of the socket
      def fiber_parts(name)
        Thread.current[name] ||= {}
      end

      def next_of(rest)
        fiber_parts(:godwit_rest).delete(__id__) if rest.size == 1
        rest.shift
      end

      def hold(data, held)
        raise Errors.build(ClosedError, :send_frame, endpoints.first) if closed?
        raise Errors.build(GoneError, :send_frame) if data.is_a?(Frame) && data.gone?
        (held[__id__] ||= []) << (data.is_a?(String) ? data.dup.freeze : data)
      end
    end
  end
end
