# frozen_string_literal: true

module Godwit
  module Compat
    module Rbczmq
      # The Godwit sockets under rbczmq's. The layer calls the backend's primitives: both count in
      # milliseconds and raw integers, and keywords would cost a tenth of a small message.
      module CompatSocket
        PRIMITIVES = %i[_send _recv _wait _get_option _set_option _forked?].freeze

        # The owner-thread fast path in Ruby; the extension has the same in C.
        module OwnerThread
          # @return [Boolean, nil] nil when the caller must take the slow path: another thread than
          #   the owner calls, or the message is no String
          def _send_on_owner_thread(owner, message)
            _send(message, 0, nil) if owner.equal?(Thread.current) && message.is_a?(String)
          end

          # @param rest [Array<String>] gets the frames behind the first; must be empty
          # @return [String, false, nil] the first frame; false when there is no message; nil when
          #   the caller must take the slow path
          def _recv_on_owner_thread(owner, rest)
            return unless owner.equal?(Thread.current) && rest.empty?
            message = _recv(0) || false
            return message unless message.is_a?(Array)
            first, *others = message
            rest.concat(others)
            first
          end
        end

        native = defined?(Backend::IMPLEMENTATION::OwnerThread)
        owner_thread = native ? Backend::IMPLEMENTATION::OwnerThread : OwnerThread

        # The classes of rbczmq's types, by libzmq's number.
        CLASSES = Godwit::SOCKET_TYPES.first(12).to_h do |name, number|
          klass = Class.new(Godwit.const_get(name)) do
            include owner_thread

            public(*PRIMITIVES)
          end
          # rbczmq's libzmq sent no empty message for a new connection.
          klass.const_set(:STARTS_WITH, (name == :STREAM) ? {stream_notify: false} : {})
          [number, const_set(name, klass)]
        end.freeze
      end
    end
  end
end
