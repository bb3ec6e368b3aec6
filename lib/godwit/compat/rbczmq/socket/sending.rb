# frozen_string_literal: true

module ZMQ
  class Socket
    # Before the first frame, these types wait for a peer with room in its queue. Other types drop
    # messages, or need the whole message to know its receiver.
    WAITING = [PUSH, DEALER, PAIR].freeze
    private_constant :WAITING

    # Sends a frame, which is the last of its message.
    # @return [Boolean] false when sndtimeo has passed
    def send(string)
      return true if @godwit._send_on_owner_thread(@sender, string)
      send_string(string, false)
    rescue Godwit::Error => error
      Failures.fail_with(error, self)
    end

    # Sends a frame that further frames of its message follow. The socket stores the frame until
    # {#send}, so that messages are sent whole.
    def sendm(string)
      send_string(string, true)
    rescue Godwit::Error => error
      Failures.fail_with(error, self)
    end

    # Sends a Frame, which is gone afterwards.
    # @return [Boolean] false when the call would wait (DONTWAIT), or sndtimeo has passed
    def send_frame(frame, flags = nil)
      usable!("send")
      Arguments.type(frame, Frame)
      data = frame.bytes_to_send
      flags = frame_flags(flags)
      trace { "send_frame #{frame.line}" }
      wait = flags.nobits?(Frame::DONTWAIT)
      sent = flags.anybits?(Frame::MORE) ? hold(data, wait) : deliver(with_held(data), wait)
      return false unless sent
      frame.gone! if flags.nobits?(Frame::REUSE)
      true
    rescue Godwit::Error => error
      Failures.fail_with(error, self)
    end

    # Sends a Message. After a successful send the message is gone.
    # @return [nil] also when the send fails
    def send_message(message)
      usable!("send")
      frames = Arguments.type(message, Message).bytes_to_send
      trace { "send_message of #{frames.size} frames" }
      message.gone! if frames.empty? || deliver(@held ? [*@held, *frames] : frames, true)
      nil
    rescue Godwit::Error => error
      Failures.remember(error)
    rescue Errno::EINTR
      nil
    end

    private

    def send_string(string, more)
      usable!("send")
      string = Arguments.string(string)
      trace { "#{more ? "sendm" : "send"} #{string.inspect}" }
      more ? hold(string, true) : deliver(with_held(string), true)
    end

    def with_held(string) = @held ? [*@held, string] : string

    def hold(string, wait)
      if !@held && WAITING.include?(type)
        return false unless wait_until(POLLOUT, send_timeout(wait)) { true }
      end
      (@held ||= []) << string.b
      @sender = nil
      true
    end

    # Sends the message. After an error the stored frames are dropped. After a time-out they remain,
    # and the script may send the last frame again.
    def deliver(message, wait)
      sent = @godwit._send(message, 0, nil)
      sent ||= wait_until(POLLOUT, send_timeout(wait)) { @godwit._send(message, 0, nil) }
      drop_held if sent
      sent
    rescue Godwit::Error
      drop_held
      raise
    end

    def drop_held
      @held = nil
      @sender = @owner
    end

    def send_timeout(wait) = wait ? @godwit._get_option(NUMBERS[:sndtimeo]) : 0

    # Waits until the socket is ready and the block returns a value, at most `limit` ms (-1: without
    # end). Returns the value, or false when time is up. Raises Errno::EINTR when a signal was
    # handled during the wait.
    def wait_until(event, limit)
      finish = milliseconds + limit if limit >= 0
      remaining = limit
      while (ready = Interrupts.wait { @godwit._wait(event, remaining) || false })
        value = yield
        return value if value
        remaining = [finish - milliseconds, 0].max if finish
      end
      Failures.errno = ready.nil? ? Errno::EINTR::Errno : Errno::EAGAIN::Errno
      raise Errno::EINTR if ready.nil?
      false
    end

    def milliseconds = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)

    def frame_flags(flags)
      flags = Frame.const_get(flags) if flags.is_a?(Symbol)
      flags.nil? ? 0 : Arguments.type(flags, Integer)
    end
  end
end
