# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Sends whole messages. Callers hold SocketHandle#lock, except for `send_fast`. ADR 3 says what
    # follows when a peer vanishes in mid-message.
    class SocketSender
      DRAIN_EVERY = Constants::SUBSCRIPTIONS_EVERY / 1000.0
      NAMED = SOCKET_TYPES.fetch_values(:ROUTER, :STREAM).freeze

      attr_accessor :timeout # ms: the socket's `send_timeout`
      # @return [Boolean] whether the socket conflates: its messages have one frame
      attr_writer :single
      # @return [Integer] number of the subscriptions that a PUB's peers have now
      attr_reader :subscriptions

      def initialize(handle)
        @handle = handle
        @mutex = handle.lock.mutex
        @waiters = handle.waiting.waiters
        @publisher = handle.publisher?
        @type = handle.type
        @named = NAMED.include?(@type) # these types send no single String
        @simple = !@named && !@publisher && @type != REQ
        @timeout = -1
        @single = false
        @incoming = Zmq.new_message if @type == XPUB
      end

      def attach(raw)
        @raw = raw
        @address = raw.address
        @cut = false
        @subscriptions = @drained = 0
      end

      # @return [Boolean] whether a REQ's peer vanished in mid-message: recreate the REQ
      def cut? = @cut

      # The fast path, for a String on an open socket without waiters. An interrupt comes before or
      # after the call of zmq_send, never during it (ADR 15).
      # @return [Boolean, nil] false or nil: nothing was sent, and the caller continues with the
      #   slow path, which may wait or raise
      def send_fast(string)
        locked = @mutex.try_lock
        return if !locked || !@handle.calm? || !@waiters.empty?
        return unless @simple || sends_simply?
        Zmq.send_string(@address, string, string.bytesize, DONTWAIT) >= 0
      ensure
        @mutex.unlock if locked
      end

      # A send of the slow path calls this first. A PUB drains its subscriptions every few ms.
      def begin
        @handle.begin
        return unless @publisher
        now = Runtime.now
        return if now - @drained < DRAIN_EVERY
        @drained = now
        drain_subscriptions
      end

      # Runs before each try, since another thread may have sent or closed a frame of the message.
      def check(message)
        return if message.is_a?(String) && !@named
        frames = message.is_a?(Array) ? message : [message]
        gone = frames.find { |one| one.is_a?(Frame) && one.gone? }
        raise Failed.new(GoneError, object: gone) if gone
        return if fits?(frames) && frames.all? { |one| one.is_a?(String) || one.is_a?(Frame) }
        raise Failed.new(:message, message)
      end

      # Calls libzmq once for each frame, without a wait.
      # @return [Integer] 0, or an errno; after EAGAIN no frame of the message is sent
      def try(message)
        error = try_frames(message)
        return error unless error == EAGAIN && !cut?
        # A wait requires an empty libzmq mailbox. A send need not empty it; this read does.
        @raw.events
        try_frames(message)
      end

      # Sends Strings up to the first message that is no String or would block.
      # @return [Integer] the index of that message
      def send_strings(messages, index, last)
        return index if @named
        while index < last
          message = messages[index]
          unless message.is_a?(String) &&
              Zmq.send_string(@address, message, message.bytesize, DONTWAIT) >= 0
            break
          end
          index += 1
        end
        index
      end

      # Counts the subscriptions among the messages that a PUB's peers send, and drops the messages.
      # @return [Integer] the errno that ended the drain: EAGAIN when no message remains
      def drain_subscriptions
        before = @subscriptions
        while (size = @raw.receive(@incoming)) >= 0
          next if size.zero?
          first = Zmq.zmq_msg_data(@incoming).get_uint8(0)
          @subscriptions += 1 if first == 1
          @subscriptions -= 1 if first.zero? && @subscriptions > 0
        end
        @handle.waiting.wake_counting if @subscriptions != before
        -size
      end

      def count_subscriptions
        error = drain_subscriptions
        raise Failed, error unless error == EAGAIN
        @subscriptions
      end

      private

      # Whether the fast path may send on a REQ or a PUB now: the REQ has not sent half a message,
      # and the PUB has just drained its subscriptions.
      def sends_simply?
        !@named && !@cut && (!@publisher || Runtime.now - @drained < DRAIN_EVERY)
      end

      def fits?(frames)
        return frames.size > 1 if @named
        frames.size == 1 || (!frames.empty? && !@single)
      end

      def try_frames(message)
        return @raw.send_bytes(message, 0) if message.is_a?(String)
        frames = message.is_a?(Array) ? message : [message]
        error = send_whole(frames.map { |one| one.is_a?(Frame) ? one.bytes_for(:send) : one })
        frames.each { |one| one.sent if one.is_a?(Frame) } if error.zero?
        error
      end

      def send_whole(frames)
        loop do
          error, tried = send_frames(frames)
          return error if error != EAGAIN || tried == 1
          @cut = @type == REQ
          return EAGAIN if @cut
          @raw.push_rest(frames.size - tried) if @type == PUSH || @type == DEALER
        end
      end

      # @return [Array(Integer, Integer)] an errno or 0, and the number of frames that were tried
      def send_frames(frames)
        error = tried = 0
        while error.zero? && tried < frames.size
          error = @raw.send_bytes(frames[tried], (tried + 1 < frames.size) ? SNDMORE : 0)
          tried += 1
        end
        [error, tried]
      end
    end
  end
end
