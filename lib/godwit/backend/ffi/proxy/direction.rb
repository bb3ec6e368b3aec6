# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # One direction of a proxy, and the message that it has received and not yet sent, at most one.
    # Only the proxy's loop uses it.
    class ProxyDirection
      attr_reader :from, :to

      # @param live [Boolean] whether the one can receive, the other send
      # @param proxy [ProxyHandle] counts each message
      def initialize(from, to, capture, live, proxy)
        @from = from
        @to = to
        @capture = capture
        @live = live
        @proxy = proxy
        @split = [] # messages that go on instead of the last one
      end

      # Whether a received message is still to be taken: of several that go on instead of one.
      def remaining? = @split.any?

      def live? = @live

      def in_hand? = !@message.nil?

      # Takes one message whole.
      # @return [Integer] an errno, or 0
      # @raise [Failed]
      def take
        @captured = @observed = false
        return hold(@split.shift) if remaining?
        message = @from.receiver.try(false)
        return EAGAIN if AGAIN.equal?(message)
        @split = (@proxy.split { message } if message.is_a?(Array) && message.size == 2) || []
        @proxy.received(@from, bytes(message), [@split.size, 1].max)
        hold(remaining? ? @split.shift : message)
      end

      # Sends the received message.
      # @return [Integer] an errno, or 0; after EAGAIN the direction keeps the message
      def pass
        if @capture && !@captured
          error = @capture.sender.try(@message)
          return error unless error.zero?
          @captured = true
          @proxy.sent(@capture, @bytes)
        end
        # After the capture socket, so that both have the same messages.
        @observed ||= @proxy.observe { Array(@message) } || true
        error = @to.sender.try(@message)
        case error
        when 0 then @proxy.sent(@to, @bytes)
        when EHOSTUNREACH then @proxy.drop # one peer that left is no reason to fail all others
        else return error
        end
        @message = nil
        0
      end

      private

      def hold(message)
        @message = message
        @bytes = bytes(message)
        0
      end

      def bytes(message) = message.is_a?(String) ? message.bytesize : message.sum(&:bytesize)
    end
  end
end
