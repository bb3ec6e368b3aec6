# frozen_string_literal: true

module ZMQ
  class Socket
    RECEIVE_TIMEOUT = 27
    private_constant :RECEIVE_TIMEOUT

    # Receives a frame.
    # @return [String, nil] nil when there is none: time is up, a signal was handled, the context
    #   ends, it is not its turn
    def recv
      first = @inner._recv_on_owner_thread(@owner, @rest) # as in send
      return first if first
      return first_of(await) if first == false
      take(true)
    rescue Godwit::Error => error
      nothing(error)
    end

    # Receives a frame that has come.
    # @return [String, nil]
    def recv_nonblock
      take(false)
    end

    # As {#recv}.
    # @return [Frame, nil]
    def recv_frame
      frame_of(take(true))
    end

    # As {#recv_nonblock}.
    # @return [Frame, nil]
    def recv_frame_nonblock
      frame_of(take(false))
    end

    # Receives the frames up to the end of a message.
    # @return [Message, nil]
    def recv_message
      first = take(true) or return
      parts = [first, *@rest]
      @rest.clear
      Message.of(parts)
    end

    # @return [Boolean] whether the frame received last has more of its message behind it
    def rcvmore?
      alive!
      rest?
    end

    # @param milliseconds [Integer] -1 for ever
    # @return [Boolean] whether there is something to receive
    def poll(milliseconds)
      alive!
      own_thread!
      Arguments.type(milliseconds, Integer)
      return true if rest?
      option { !!served(POLLIN, [milliseconds, -1].max) { true } }
    rescue Errno::EINTR
      false
    end

    private

    # @return [String, nil] the next frame
    def take(wait)
      ready_to_receive
      return @rest.shift unless @rest.empty?
      message = @inner._recv(0)
      message ||= await if wait
      Failures.errno = Errno::EAGAIN::Errno unless message || wait
      trace { "recv #{message.inspect}" }
      first_of(message)
    rescue Godwit::Error => error
      raise Failures.misuse(error, self) if error.is_a?(Godwit::ForkedError)
      Failures.note(error)
    end

    # @return [String, Array, nil] the next message; nil when none comes, or the wait is over for
    #   another reason
    def await
      if Interrupts.interruptible?
        served(POLLIN, @inner._get_option(RECEIVE_TIMEOUT)) { @inner._recv(0) } || nil
      else
        @inner._recv(nil) || (Failures.errno = Errno::EAGAIN::Errno) && nil
      end
    rescue Errno::EINTR
      nil
    rescue Godwit::Error => error # it may have been closed while it waited
      Failures.note(error)
    end

    def first_of(message)
      return message unless message.is_a?(Array)
      first, *others = message
      @rest.concat(others)
      first
    end

    def ready_to_receive
      alive!
      raise Error, "can only receive on a bound or connected socket!" unless attached?
      own_thread!
      own_process!
    end

    # What was tried without a look: closed sockets and those of another process say so, all else
    # gives nil.
    def nothing(error)
      alive!
      raise Failures.misuse(error, self) if error.is_a?(Godwit::ForkedError)
      Failures.note(error)
    end

    def frame_of(data)
      data && Frame.of(data, rest?)
    end
  end
end
