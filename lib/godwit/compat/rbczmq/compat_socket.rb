# frozen_string_literal: true

module Godwit
  module Compat
    module Rbczmq
      # The Godwit sockets below rbczmq's sockets. The layer calls the backend's private methods,
      # with milliseconds and integers as in rbczmq. Keyword arguments would take a tenth more time.
      module CompatSocket
        PRIMITIVES = %i[_send _recv _wait _get_option _set_option _forked?].freeze

        # The extension has a fast path for the thread that owns a socket. Over FFI these methods
        # return nil, and the caller uses the slow path.
        module OwnerThread
          def _send_on_owner_thread(_owner, _message) = nil
          def _recv_on_owner_thread(_owner, _rest) = nil
        end

        native = defined?(Backend::IMPLEMENTATION::OwnerThread)
        owner_thread = native ? Backend::IMPLEMENTATION::OwnerThread : OwnerThread

        # The Godwit class for each socket type of rbczmq, by libzmq's number of the type.
        CLASSES = Godwit::SOCKET_TYPES.first(12).to_h do |name, number|
          klass = Class.new(Godwit.const_get(name)) do
            include owner_thread

            public(*PRIMITIVES)
          end
          # The libzmq of rbczmq delivered no empty message for a new connection.
          klass.const_set(:STARTS_WITH, (name == :STREAM) ? {stream_notify: false} : {})
          [number, const_set(name, klass)]
        end.freeze
      end
    end
  end
end
