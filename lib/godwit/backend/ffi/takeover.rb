# frozen_string_literal: true

require_relative "../../timeout"

module Godwit
  module Backend::FFI
    # Socket's send, << and recv: the fast path, and then the methods of Socket::Messages.
    module Takeover
      UNSET = Timeout::UNSET
      private_constant :UNSET

      def send(message, *more, timeout: UNSET, exception: true, track: false)
        raise ErrorHints.too_many(:send, [message, *more]) unless more.empty?
        Timeout.check(timeout) unless UNSET.equal?(timeout)
        return self if !track && message.is_a?(String) && @handle&.sender&.send_fast(message)
        super
      end

      def <<(message)
        (message.is_a?(String) && @handle&.sender&.send_fast(message)) ? self : send(message)
      end

      def recv(*more, timeout: UNSET, exception: true)
        raise ErrorHints.too_many(:recv, more) unless more.empty?
        Timeout.check(timeout) unless UNSET.equal?(timeout)
        @handle&.receiver&.receive_fast || super
      end
    end
  end
end
