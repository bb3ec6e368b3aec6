# frozen_string_literal: true

module Godwit
  module Compat
    module Rbczmq
      # The sockets under rbczmq's. The door calls the primitives themselves: rbczmq deals in
      # milliseconds and raw integers too, and each keyword on the way would cost a tenth of a small
      # message.
      # @private
      module CompatSocket
        PRIMITIVES = %i[_send _recv _wait _get_option _set_option _forked?].freeze

        # What the extension does in C.
        # @private
        module OwnerThread
          # @return [Boolean, nil] nil when the caller has to look: not the owner's thread, or no
          #   String
          def _send_on_owner_thread(owner, message)
            _send(message, 0, nil) if owner.equal?(Thread.current) && message.is_a?(String)
          end

          # @param rest [Array<String>] gets what comes behind the first frame; it must be empty
          # @return [String, false, nil] the first frame; as {#_send_on_owner_thread}; false when
          #   there is no message
          def _recv_on_owner_thread(owner, rest)
            return unless owner.equal?(Thread.current) && rest.empty?
            message = _recv(0) || false
            return message unless message.is_a?(Array)
            first, *others = message
            rest.concat(others)
            first
          end
        end

        OWNER_THREAD =
          (
            if defined?(Backend::IMPLEMENTATION::OwnerThread)
              Backend::IMPLEMENTATION::OwnerThread
            else
              OwnerThread
            end
          )
        private_constant :OWNER_THREAD

        # rbczmq's types, by libzmq's number.
        CLASSES = Godwit::SOCKET_TYPES.first(12).to_h do |name, number|
          klass = Class.new(Godwit.const_get(name)) do
            include OWNER_THREAD

            public(*PRIMITIVES)
          end
          # Its libzmq told of no connection by an empty message.
          klass.const_set(:STARTS_WITH, (name == :STREAM) ? {stream_notify: false} : {})
          [number, const_set(name, klass)]
        end.freeze
      end
    end
  end
end
