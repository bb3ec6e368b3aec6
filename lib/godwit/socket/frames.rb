# frozen_string_literal: true

module Godwit
  class Socket
    # Messages without copies ({Frame}, {Message}), and frame by frame.
    #
    # Frame by frame, messages stay whole: {#send_frame} holds the parts of a message back until its
    # last, per fiber, and {#recv_frame} hands out the rest of a message to the fiber that began it.
    # So any number of threads and fibers may do so on one socket.
    module Frames
      UNSET = Timeout::UNSET
      # What a fiber has of messages on a socket: the parts that it holds back, the rest of what it
      # reads. Both go with either.
      Parts = Struct.new(:fiber, :held, :rest)
      private_constant :UNSET, :Parts

      # Receives the next frame: of the message that this fiber has begun to read, else the first of
      # a new one.
      # @param timeout [Integer, Float, nil] seconds, where a new message is waited for
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Frame] nil when time is up and `exception: false`. Its `more?` tells whether the
      #   message goes on; that rest is handed out to this fiber only, and forgotten with it
      # @raise [Error] as {Messages#recv}
      def recv_frame(timeout: UNSET, exception: true)
        mine = parts
        return next_of(mine) if mine&.rest && !closed?
        frame = _recv_frame(Timeout.milliseconds(timeout)) or
          return timed_out(:recv_frame, exception)
        return frame unless frame.is_a?(Array)
        (mine || new_parts).rest = frame
        frame.shift
      end

      # Receives what has come, as the frames of whole messages one after the other (`more?` tells
      # where one ends); waits for the first message only. It makes one object for each frame, and
      # the Array.
      # @param max [Integer] frames, 1 or more; the last message is given whole all the same. One
      #   call gives about 1,024 frames or 64 MiB at most
      # @param timeout [Integer, Float, nil] seconds, for the first
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Array<Frame>] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#recv_many}
      def recv_frames(max = 256, timeout: UNSET, exception: true)
        unless max.is_a?(Integer) && max.positive?
          raise Errors.bad_value(:recv_frames, "max", "1 frame or more", max)
        end
        _recv_frames([max, 1 << 30].min, Timeout.milliseconds(timeout)) ||
          timed_out(:recv_frames, exception)
      end

      # Receives a whole message without copying it.
      # @param timeout [Integer, Float, nil] seconds
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Message] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#recv}
      def recv_message(timeout: UNSET, exception: true)
        frames = _recv_frame(Timeout.milliseconds(timeout)) or
          return timed_out(:recv_message, exception)
        Message.of(frames.is_a?(Array) ? frames : [frames])
      end

      # Sends a message frame by frame. With `more: true` the frame is held back for this fiber; the
      # call without sends all that it holds as one message. When that fails (its time is up, say)
      # what was held stays held, and the same call can be made again.
      # @param data [String, Frame] a String is held as it is now
      # @param more [Boolean] whether the message goes on
      # @param timeout [Integer, Float, nil] seconds, where it is sent
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [self] nil when time is up and `exception: false`
      # @raise [Error] as {Messages#send}
      def send_frame(data, more: false, timeout: UNSET, exception: true)
        unless data.is_a?(String) || data.is_a?(Frame)
          raise ErrorHints.bad_message([data], :send_frame)
        end
        return hold(data) if more
        mine = parts
        _send(mine&.held ? [*mine.held, data] : data, Timeout.milliseconds(timeout), nil) or
          return timed_out(:send_frame, exception)
        mine&.held = nil
        self
      end

      # Forgets the frames that {#send_frame} holds back for this fiber, and the rest of a message
      # that {#recv_frame} has begun.
      # @return [self]
      def discard_frames
        mine = parts
        mine.held = mine.rest = nil if mine
        self
      end

      # From this size on frozen Strings are sent where they are and not copied; any other String is
      # copied. libzmq then reads them after `send` has returned, and they stay in memory until it
      # has (`send(data, track: true)` tells when).
      # @return [Integer, nil] bytes; nil: all are copied. {Frame::COPY_THRESHOLD} unless set
      def copy_threshold = _copy_threshold

      # @param bytes [Integer, nil]
      # @raise [ArgumentValueError]
      def copy_threshold=(bytes)
        _set_copy_threshold(Frame.threshold(:copy_threshold=, bytes))
      end

      private

      # @return [Parts, nil] this fiber's
      def parts
        fiber = Thread.current[:godwit_fiber] or return
        @parts && @parts[fiber.__id__]
      end

      # Thread#[] is the fiber's own, and goes with it. What other fibers left is swept here.
      def new_parts
        fiber = Thread.current[:godwit_fiber] ||= Object.new
        # A WeakRef is not for Ractors.
        mine = Parts.new(ObjectSpace::WeakMap.new.tap { |weak| weak[:fiber] = fiber })
        _exclusive(:frames) do
          _record(:@parts) do |known|
            {**known.to_h.select { |_, one| one.fiber.key?(:fiber) }, fiber.__id__ => mine}
          end
        end
        mine
      end

      def next_of(mine)
        frame = mine.rest.shift
        mine.rest = nil if mine.rest.empty?
        frame
      end

      def hold(data)
        raise Errors.build(ClosedError, :send_frame, endpoints.first) if closed?
        raise Errors.build(GoneError, :send_frame) if data.is_a?(Frame) && data.gone?
        ((parts || new_parts).held ||= []) << (data.is_a?(String) ? data.dup.freeze : data)
        self
      end
    end
  end
end
