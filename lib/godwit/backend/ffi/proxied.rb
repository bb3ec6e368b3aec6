# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What a proxy needs of its sockets.
      # @private
      class SocketHandle
        # A proxy's loop alone uses it from here on. A waiting thread calls libzmq when it wakes.
        # @raise [Failed]
        def acquire(proxy)
          use do
            raise Failed, BusyError unless @queue.empty?
            @peers&.stop
            drop_torn
            @proxy_linger = get(LINGER)
            @proxy = proxy
            become :in_proxy
          end
        end

        # It is everybody's again; one that was closed meanwhile is closed now.
        def release_from_proxy
          @lock.synchronize do
            @proxy = nil
            become(:open) if @state == :in_proxy
            wake_all # pollers did not ask it meanwhile
            next unless @state == :closing
            @monitor_pump&.end
            @monitor_waiters.wake
            release_unused
          end
        end

        # PULL and SUB send nothing, PUSH and PUB receive nothing.
        def receives? = @type != PUSH && @type != PUB && !@publisher

        def sends? = @type != PULL && @type != SUB

        private

        def end_proxy
          become :closing
          @context.note_linger(@proxy_linger)
          @proxy.end
        end
      end
    end
  end
end
