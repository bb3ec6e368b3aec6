# frozen_string_literal: true

module ZMQ
  class Socket
    SEND_TIMEOUT = 28
    WAITING = [PUSH, DEALER, PAIR].freeze # for a peer with room
    private_constant :SEND_TIMEOUT, :WAITING

    # Sends a frame: the last of its message.
    # @return [Boolean] false when the time of sndtimeo is up
    def send(string)
      # Open, attached, no part held, in its thread: nothing else needs a look.
      return true if @inner._send_on_owner_thread(@sender, string)
      send_part(string, false)
    rescue Godwit::Error => error
      Failures.fail_with(error, self)
    end

    # Sends a frame, with more of its message to follow. It is held back until {#send} comes:
    # messages go whole.
    # @return [Boolean] false when the time of sndtimeo is up
    def sendm(string)
      send_part(string, true)
    rescue Godwit::Error => error
      Failures.fail_with(error, self)
    end

    # Sends a Frame, which is gone then.
    # @param flags [Integer, Symbol, nil] of Frame::MORE, REUSE and DONTWAIT
    # @return [Boolean] false when it would wait (DONTWAIT), or the time of sndtimeo is up
    def send_frame(frame, flags = nil)
      ready_to_send
      Arguments.type(frame, Frame)
      data = frame.hand_out
      flags = frame_flags(flags)
      trace { "send_frame #{frame.line}" }
      wait = flags.nobits?(Frame::DONTWAIT)
      unless flags.anybits?(Frame::MORE) ? hold(data, wait) : deliver(with_held(data), wait)
        return false
      end
      frame.gone! if flags.nobits?(Frame::REUSE)
      true
    rescue Godwit::Error => error
      Failures.fail_with(error, self)
    end

    # Sends a Message, which is gone then. What fails is not told; the message is still there.
    # @return [nil]
    def send_message(message)
      ready_to_send
      parts = Arguments.type(message, Message).hand_out
      trace { "send_message of #{parts.size} frames" }
      message.gone! if parts.empty? || deliver(@held ? [*@held, *parts] : parts, true)
      nil
    rescue Godwit::Error => error
      Failures.note(error)
    rescue Errno::EINTR
      nil
    end

    private

    def ready_to_send
      alive!
      raise Error, "can only send on a bound or connected socket!" unless attached?
      own_thread!
      own_process!
    end

    def send_part(string, more)
      ready_to_send
      string = Arguments.string(string)
      trace { "#{more ? "sendm" : "send"} #{string.inspect}" }
      more ? hold(string, true) : deliver(with_held(string), true)
    end

    def with_held(string)
      @held ? [*@held, string] : string
    end

    # Where libzmq would have waited with the first part, this does. The other types drop, or know
    # by the whole message where it goes.
    def hold(string, wait)
      if !@held && WAITING.include?(type)
        return false unless served(POLLOUT, wait ? @inner._get_option(SEND_TIMEOUT) : 0) { true }
      end
      (@held ||= []) << string.b
      @sender = nil
      true
    end

    # What is refused is given up whole; when time is up, the last part may be sent again.
    def deliver(message, wait)
      sent = @inner._send(message, 0, nil)
      sent ||=
        served(POLLOUT, wait ? @inner._get_option(SEND_TIMEOUT) : 0) do
          @inner._send(message, 0, nil)
        end
      give_up_held if sent
      sent
    rescue Godwit::Error
      give_up_held
      raise
    end

    def give_up_held
      @held = nil
      @sender = @owner
    end

    # Waits until the socket is ready and the block gives something.
    # @param limit [Integer] milliseconds, -1 for ever
    # @return [Object, false] what the block gives; false when time is up
    # @raise [Errno::EINTR] when a signal was handled meanwhile
    def served(event, limit)
      finish = milliseconds + limit if limit >= 0
      left = limit
      while (ready = Interrupts.wait_on(@inner, event, left))
        value = yield
        return value if value
        left = [finish - milliseconds, 0].max if finish
      end
      interrupted if ready.nil?
      Failures.errno = Errno::EAGAIN::Errno
      false
    end

    def interrupted
      Failures.errno = Errno::EINTR::Errno
      raise Errno::EINTR
    end

    def milliseconds = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)

    def frame_flags(flags)
      flags = Frame.const_get(flags) if flags.is_a?(Symbol)
      flags.nil? ? 0 : Arguments.type(flags, Integer)
    end
  end
end
