# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # One direction of a proxy, and the message that it has received and not yet sent. Only the
    # proxy's loop uses this object.
    class ProxyDirection
      attr_reader :from, :to

      # @param live [Boolean] whether `from` can receive and `to` can send
      def initialize(from, to, capture, live, proxy)
        @from = from
        @to = to
        @capture = capture
        @live = live
        @proxy = proxy
        @split = [] # the remaining messages of a batch, which the observer has split
      end

      def remaining? = @split.any?

      def live? = @live

      def unsent? = !@message.nil?

      # Receives one whole message, or dequeues the next one of a batch. Returns an errno, or 0.
      def receive
        @captured = @observed = false
        return store(@split.shift) if remaining?
        message = @from.receiver.try(false)
        return EAGAIN if AGAIN.equal?(message)
        @split = (@proxy.split { message } if message.is_a?(Array) && message.size == 2) || []
        @proxy.received(@from, bytes(message), [@split.size, 1].max)
        store(remaining? ? @split.shift : message)
      end

      # Sends the received message. Returns an errno, or 0; after EAGAIN the message stays unsent.
      def pass
        if @capture && !@captured
          error = @capture.sender.try(@message)
          return error unless error.zero?
          @captured = true
          @proxy.sent(@capture, @bytes)
        end
        # The observer gets a message after the capture socket, so that both get the same messages.
        @observed ||= @proxy.observe { Array(@message) } || true
        error = @to.sender.try(@message)
        case error
        when 0 then @proxy.sent(@to, @bytes)
        when EHOSTUNREACH then @proxy.drop # a departed peer must not stop the other peers
        else return error
        end
        @message = nil
        0
      end

      private

      def store(message)
        @message = message
        @bytes = bytes(message)
        0
      end

      def bytes(message) = message.is_a?(String) ? message.bytesize : message.sum(&:bytesize)
    end
  end
end
