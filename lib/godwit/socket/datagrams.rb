# frozen_string_literal: true

module Godwit
  class Socket
    module Drafts
      # {DGRAM}: a message has two frames, address and body.
      module Datagrams
        ADDRESS = /\A\d{1,3}(?:\.\d{1,3}){3}:\d{1,5}\z/
        private_constant :ADDRESS

        # Sends a datagram, which may be lost without notice.
        # @param message [Array(String, String), Message] address, such as "127.0.0.1:5555", and
        #   body, of at most 8,192 bytes
        # @param timeout [Integer, Float, nil] seconds
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @param track [Boolean] whether to give a {Tracker}, as {Messages#send}
        # @return [self, Tracker] or nil when time is up and `exception: false`
        # @raise [MessageError] for a message of another form, or a malformed address
        # @raise [Errno::EMSGSIZE] (a {SystemError}) when the body is too large
        # @raise [Error] as {Messages#send}
        def send(message, timeout: UNSET, exception: true, track: false)
          check_address(message, :send)
          super
        end

        # (see Messages#<<)
        def <<(message) = send(message)

        # (see Messages#send_nonblock)
        def send_nonblock(message, exception: true)
          check_address(message, :send_nonblock)
          super
        end

        # (see Messages#send_many)
        def send_many(messages, timeout: UNSET)
          messages.each { |message| check_address(message, :send_many) } if messages.is_a?(Array)
          super
        end

        private

        # libzmq would drop a malformed address without an error.
        def check_address(message, operation)
          message = message.frames if message.is_a?(Message)
          return unless message.is_a?(Array) && message.size == 2 # super refuses other forms
          return unless message.first.is_a?(String) || message.first.is_a?(Frame)
          address = message.first.to_s.b.delete_suffix("\0") # libzmq ends a received one with NUL
          return if address.match?(ADDRESS) && in_range?(*address.split(/[.:]/).map(&:to_i))
          raise Errors.of(MessageError, operation,
            "the first frame is an IPv4 address with its port, such as \"127.0.0.1:5555\": " \
            "got #{Errors.shown(address)}")
        end

        def in_range?(*bytes, port) = bytes.all? { |byte| byte < 256 } && port.between?(1, 65_535)
      end
    end
  end
end
