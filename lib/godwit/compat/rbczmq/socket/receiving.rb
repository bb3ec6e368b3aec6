# frozen_string_literal: true

module ZMQ
  class Socket
    # @return [String, nil] the next frame; nil when rcvtimeo has passed, a signal was handled, the
    #   context ends, or the socket has to send first
    def recv
      first = @godwit._recv_on_owner_thread(@owner, @rest)
      return first if first
      return first_of(await) if first == false
      receive(true)
    rescue Godwit::Error => error # raised on the fast path
      alive!
      failed(error)
    end

    def recv_nonblock = receive(false)
    def recv_frame = frame_of(receive(true))
    def recv_frame_nonblock = frame_of(receive(false))

    # Receives the frames up to the end of a message.
    def recv_message
      first = receive(true) or return
      frames = [first, *@rest]
      @rest.clear
      Message.of(frames)
    end

    # @return [Boolean] whether the message of the last received frame has more frames
    def rcvmore?
      alive!
      rest?
    end

    # @param milliseconds [Integer] -1: without end
    def poll(milliseconds)
      alive!
      own_thread!
      Arguments.type(milliseconds, Integer)
      return true if rest?
      translated { !!wait_until(POLLIN, [milliseconds, -1].max) { true } }
    rescue Errno::EINTR
      false
    end

    private

    def receive(wait)
      usable!("receive")
      return @rest.shift unless @rest.empty?
      message = @godwit._recv(0)
      message ||= await if wait
      Failures.errno = Errno::EAGAIN::Errno unless message || wait
      trace { "recv #{message.inspect}" }
      first_of(message)
    rescue Godwit::Error => error
      failed(error)
    end

    # @return [String, Array, nil] the next message; nil when the wait ends without a message
    def await
      if Interrupts.interruptible?
        wait_until(POLLIN, @godwit._get_option(NUMBERS[:rcvtimeo])) { @godwit._recv(0) } || nil
      else
        message = @godwit._recv(nil)
        Failures.errno = Errno::EAGAIN::Errno unless message
        message
      end
    rescue Errno::EINTR
      nil
    rescue Godwit::Error => error # another thread may have closed the socket during the wait
      Failures.remember(error)
    end

    def first_of(message)
      return message unless message.is_a?(Array)
      first, *others = message
      @rest.concat(others)
      first
    end

    def failed(error)
      raise Failures.misuse(error, self) if error.is_a?(Godwit::ForkedError)
      Failures.remember(error)
    end

    def frame_of(data) = data && Frame.of(data, rest?)
  end
end
