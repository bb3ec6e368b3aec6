# frozen_string_literal: true

require_relative "../../timeout"

module Godwit
  module Backend
    module FFI
      # The common case of send, << and recv by a fast path; any other goes the whole direction,
      # which Socket::Messages documents.
      # @private
      module Takeover
        UNSET = Timeout::UNSET
        private_constant :UNSET

        # The slow path under names of its own: a method that says `super` takes JRuby 100 ns more,
        # also when it does not come to that.
        def self.included(socket)
          %i[send recv].each do |name|
            socket.__send__(
              :define_method, :"_#{name}_slowly", Socket::Messages.instance_method(name)
            )
          end
          socket.__send__(:private, :_send_slowly, :_recv_slowly)
        end

        def send(message, timeout: UNSET, exception: true, track: false)
          Timeout.milliseconds(timeout) unless UNSET.equal?(timeout)
          return self if !track && message.is_a?(String) && @handle&.send_at_once(message)
          _send_slowly(message, timeout: timeout, exception: exception, track: track)
        end

        def <<(message)
          (message.is_a?(String) && @handle&.send_at_once(message)) ? self : send(message)
        end

        def recv(timeout: UNSET, exception: true)
          message =
            @handle&.receive_at_once(UNSET.equal?(timeout) ? nil : Timeout.milliseconds(timeout))
          return _recv_slowly(timeout: timeout, exception: exception) unless message
          FFI::AGAIN.equal?(message) ? timed_out(:recv, exception) : message
        end
      end
    end
  end
end
