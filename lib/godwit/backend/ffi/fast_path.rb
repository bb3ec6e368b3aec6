# frozen_string_literal: true

require_relative "../../timeout"

module Godwit
  module Backend::FFI
    # The common case of send, << and recv: a String, or any message, on a socket without waiters.
    # An interrupt comes before or after libzmq has the message (ADR 15).
    class SocketHandle
      # @return [Boolean, nil] false or nil: nothing was sent, and the slow path says why
      def send_fast(string)
        return if SCHEDULERS && (@calls_since_yield += 1) >= YIELD_EVERY
        locked = @mutex.try_lock
        return if !locked || !@open || @peers || @looking || !@waiters.empty?
        return if SCHEDULERS && forked?
        return unless @simple || sends_simply?
        Zmq.send_string(@address, string, string.bytesize, DONTWAIT) >= 0
      ensure
        @mutex.unlock if locked
      end

      # @return [String, Array<String>, nil] nil: nothing was taken, and the slow path says why
      def receive_fast
        return if SCHEDULERS && (@calls_since_yield += 1) >= YIELD_EVERY
        locked = @mutex.try_lock
        return if !locked || !@open || @peers || @looking || !@waiters.empty?
        return if SCHEDULERS && forked?
        return unless @simple || receives_simply?
        @torn = true
        size = Zmq.receive(@incoming_address, @address, DONTWAIT)
        message = message_of(size) if size >= 0
        @torn = false
        message
      ensure
        if locked
          drop_rest if @torn # an interrupt came between its frames
          @mutex.unlock
        end
      end

      private

      # Other types than PUSH, DEALER and the like, when they have nothing to repair.
      def sends_simply?
        takes_string? && !@cut && (!@takes_turns || !@watches) &&
          (!@publisher || Clock.now - @drained < DRAIN_EVERY)
      end

      def receives_simply?
        !@publisher && (!@takes_turns || !@watches)
      end

      # @param size [Integer] bytes of the frame in @incoming
      # @return [String, Array<String>] the whole message
      def message_of(size)
        if @binary && size > 0 && size <= KEPT && Zmq.more(@incoming_address) == 0
          return Zmq::MEMORY.get_bytes(Zmq.data(@incoming_address) - 1, size)
        end
        string = copy_incoming(size)
        @more ? take_rest(string, false) : string
      end
    end

    # Socket's send, << and recv: the fast path, else the methods of Socket::Messages.
    module Takeover
      UNSET = Timeout::UNSET
      private_constant :UNSET

      def send(message, *more, timeout: UNSET, exception: true, track: false)
        raise ErrorHints.too_many(:send, [message, *more]) unless more.empty?
        Timeout.milliseconds(timeout) unless UNSET.equal?(timeout)
        return self if !track && message.is_a?(String) && @handle&.send_fast(message)
        super
      end

      def <<(message)
        (message.is_a?(String) && @handle&.send_fast(message)) ? self : send(message)
      end

      def recv(*more, timeout: UNSET, exception: true)
        raise ErrorHints.too_many(:recv, more) unless more.empty?
        Timeout.milliseconds(timeout) unless UNSET.equal?(timeout)
        @handle&.receive_fast || super
      end
    end
  end
end
