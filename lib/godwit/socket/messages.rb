# frozen_string_literal: true

module Godwit
  class Socket
    # Sends and receives messages. A message is a String (one frame) or an Array of Strings
    # (several frames), in both directions.
    #
    # Timeouts are seconds (Integer or Float); nil is for ever. If a call gives no timeout, the
    # socket's `send_timeout` or `recv_timeout` holds (for ever, unless set). With `exception:
    # false` a call gives nil instead of raising TimeoutError.
    #
    # Any thread or fiber may call these methods; see {Socket} on kills and interrupts.
    module Messages
      READABLE = Header::POLLIN
      WRITABLE = Header::POLLOUT
      private_constant :READABLE, :WRITABLE

      # Sends a message; waits while no peer can receive it. A String's encoding does not matter.
      # A sent Frame is gone ({Frame#gone?}), unless it is frozen or the call fails.
      # @param message [String, Frame, Array<String, Frame>, Message]
      # @param timeout [Integer, Float, nil] seconds
      # @param track [Boolean] whether to give a {Tracker} of the Strings that are sent in place
      #   (see {Frames#copy_threshold})
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [self, Tracker] or nil when time is up and `exception: false`
      # @raise [TimeoutError] when time is up
      # @raise [GoneError] when a frame of the message was sent or closed before
      # @raise [BusyError] when a memory view of a frame is open
      # @raise [MessageTypeError] when `message` is no message
      # @raise [MessageError] when the message has no frame
      # @raise [StateError] REQ, REP: out of turn
      # @raise [UnsupportedError] when the type only receives
      # @raise [UnreachableError] ROUTER with `mandatory: true`: there is no such peer
      # @raise [ClosedError, ContextTerminatedError, ForkedError]
      # @see http://api.zeromq.org/4-3:zmq-msg-send zmq_msg_send(3)
      def send(message, timeout: UNSET, exception: true, track: false)
        tracker = Tracker.new if track
        sent = _send(message, Timeout.milliseconds(timeout), tracker)
        return timed_out(:send, exception) unless sent
        track ? tracker.sent : self
      end

      # Sends as {#send} does, for chains: `socket << "a" << ["b", "c"]`.
      # @param message [String, Frame, Array<String, Frame>, Message]
      # @return [self]
      def <<(message) = send(message)

      # Sends a message without waiting.
      # @param message [String, Frame, Array<String, Frame>, Message]
      # @param exception [Boolean] false: :wait_writable instead of an error
      # @return [self] or :wait_writable when a send would wait and `exception: false`
      # @raise [EAGAINWaitWritable] (an IO::WaitWritable) when a send would wait
      # @raise [Error] as {#send}
      def send_nonblock(message, exception: true)
        return self if _send(message, 0, nil)
        would_block(:send_nonblock, exception)
      end

      # Sends many messages, about a thousand in one native call.
      # @param messages [Array<String, Frame, Array<String, Frame>, Message>] all are checked before
      #   the first is sent
      # @param timeout [Integer, Float, nil] seconds for all messages; not given: `send_timeout` for
      #   each wait
      # @return [self]
      # @raise [Error] as {#send}; the error's `sent` is the number of messages that were sent, each
      #   whole. (After an interrupt such as `Timeout` that number is unknown: use `timeout:`.)
      def send_many(messages, timeout: UNSET)
        raise ErrorHints.bad_batch(messages) unless messages.is_a?(Array)
        send_all(messages.size, timeout) do |sent, milliseconds|
          _send_many(messages, sent, milliseconds)
        end
      end

      # Receives a message, after a wait if none has arrived.
      # @param timeout [Integer, Float, nil] seconds
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [String, Array<String>] a new String, or an Array for several frames; nil
      #   when time is up and `exception: false`
      # @raise [TimeoutError] when time is up
      # @raise [StateError] REQ, REP: out of turn
      # @raise [UnsupportedError] when the type only sends
      # @raise [ClosedError, ContextTerminatedError, ForkedError]
      # @see http://api.zeromq.org/4-3:zmq-msg-recv zmq_msg_recv(3)
      def recv(timeout: UNSET, exception: true)
        _recv(Timeout.milliseconds(timeout)) || timed_out(:recv, exception)
      end

      # Receives as {#recv} does, but always gives an Array of frames.
      # @param (see #recv)
      # @return [Array<String>] or nil when time is up and `exception: false`
      # @raise [Error] as {#recv}
      def recv_multipart(timeout: UNSET, exception: true)
        message = recv(timeout: timeout, exception: exception)
        message.is_a?(String) ? [message] : message
      end

      # Receives as {#recv} does, but only messages of one frame.
      # @param (see #recv)
      # @return [String] or nil when time is up and `exception: false`
      # @raise [MultipartError] when the message has several frames; the error has them as `frames`
      # @raise [Error] as {#recv}
      def recv_string(timeout: UNSET, exception: true)
        message = recv(timeout: timeout, exception: exception)
        raise multipart(:recv_string, message) if message.is_a?(Array)
        message
      end

      # Receives a message without waiting.
      # @param exception [Boolean] false: :wait_readable instead of an error
      # @return [String, Array<String>] or :wait_readable without a message and `exception: false`
      # @raise [EAGAINWaitReadable] (an IO::WaitReadable) without a message
      # @raise [Error] as {#recv}
      def recv_nonblock(exception: true) = _recv(0) || would_block(:recv_nonblock, exception)

      # Receives the messages that have arrived; waits for the first only.
      # @param max [Integer] most messages, 1 or more; one call gives at most 1,024 messages, and
      #   stops at about 64 MiB
      # @param timeout [Integer, Float, nil] seconds to wait for the first message
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Array<String, Array<String>>] at least one; nil when time is up and `exception:
      #   false`
      # @raise [ArgumentValueError] when `max` is not allowed
      # @raise [Error] as {#recv}
      def recv_many(max = 256, timeout: UNSET, exception: true)
        Errors.check_positive(:recv_many, "max", "1 message or more", max)
        _recv_many([max, 1 << 30].min, Timeout.milliseconds(timeout)) ||
          timed_out(:recv_many, exception)
      end

      # Yields each message, until the socket or its context is closed.
      # @yieldparam message [String, Array<String>]
      # @return [self] or, without a block, an Enumerator
      # @raise [Error] as {#recv}, except ClosedError and ContextTerminatedError
      def each
        return to_enum(:each) unless block_given?
        while (message = next_message)
          yield message
        end
        self
      end

      # Tells whether the socket can send or receive without waiting.
      # @return [Array<Symbol>] of :readable and :writable
      # @see http://api.zeromq.org/4-3:zmq-getsockopt ZMQ_EVENTS in zmq_getsockopt(3)
      def events
        bits = _wait(READABLE | WRITABLE, 0) || 0
        [(:readable if bits.anybits?(READABLE)), (:writable if bits.anybits?(WRITABLE))].compact
      end

      # @return [Boolean] whether a message can be received without waiting
      def readable? = !_wait(READABLE, 0).nil?
      # @return [Boolean] whether a message can be sent without waiting
      def writable? = !_wait(WRITABLE, 0).nil?

      # Waits until a message can be received; another thread may still receive it first.
      # @param timeout [Integer, Float, nil] seconds
      # @return [self, nil] nil when time is up, as IO#wait_readable
      # @raise [UnsupportedError] when the type only sends
      def wait_readable(timeout = nil)
        refuse_to_wait(:wait_readable) if ErrorHints::SEND_ONLY.include?(type)
        _wait(READABLE, Timeout.milliseconds(timeout)) && self
      end

      # Waits until a message can be sent.
      # @param timeout [Integer, Float, nil] seconds
      # @return [self, nil] nil when time is up, as IO#wait_writable
      # @raise [UnsupportedError] when the type only receives
      def wait_writable(timeout = nil)
        refuse_to_wait(:wait_writable) if ErrorHints::RECEIVE_ONLY.include?(type)
        _wait(WRITABLE, Timeout.milliseconds(timeout)) && self
      end

      # @private
      # Sends the messages from an index on, until a send would wait longer than `milliseconds`.
      def send_from(messages, index, milliseconds) = _send_many(messages, index, milliseconds)

      private

      # Raises, since a socket of this type never becomes ready.
      def refuse_to_wait(operation)
        _wait(READABLE | WRITABLE, 0) # for a closed socket `_wait` raises ClosedError
        raise Errors.build(UnsupportedError, operation, endpoints.first,
          ErrorHints.direction(operation, self))
      end

      # @yieldparam sent [Integer] messages that were sent
      # @yieldreturn [Integer] messages that this call sent; 0 when time is up
      def send_all(size, timeout)
        sent = 0
        Timeout.check(timeout)
        start = Timeout.now unless UNSET.equal?(timeout)
        while sent < size
          remaining = start ? Timeout.remaining(timeout, start) : timeout
          count = yield sent, Timeout.milliseconds(remaining)
          raise timeout_error(:send_many) if count.zero?
          sent += count
        end
        self
      rescue Error => error
        error.sent = sent
        raise error
      end

      def would_block(operation, exception)
        sends = operation == :send_nonblock
        return sends ? :wait_writable : :wait_readable unless exception
        klass = sends ? EAGAINWaitWritable : EAGAINWaitReadable
        raise Errors.build(klass, operation, endpoints.first)
      end

      def timed_out(operation, exception)
        raise timeout_error(operation) if exception
      end

      def timeout_error(operation)
        Errors.build(TimeoutError, operation, endpoints.empty? ? nil : endpoints.join(", "),
          ErrorHints.timed_out(self, operation))
      end

      def multipart(operation, frames)
        MultipartError.new("#{operation}: the message has #{frames.size} frames (use recv, or " \
          "take them from this error's frames)", operation: operation, frames: frames)
      end

      def next_message
        recv(timeout: nil)
      rescue ClosedError, ContextTerminatedError
        nil
      end
    end
  end
end
