# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What a proxy needs of its sockets.
      # @private
      class SocketHandle
        # A proxy's loop alone uses it from here on. Who waits calls libzmq when he wakes.
        # @raise [Failed]
        def lend(proxy)
          use do
            raise Failed, BusyError unless @line.empty?
            @peers&.stop
            @lent_linger = get(LINGER)
            @proxy = proxy
            @state = :lent
          end
        end

        # It is everybody's again; one that was closed meanwhile is closed now.
        def give_back
          @lock.synchronize do
            @proxy = nil
            @state = :open if @state == :lent
            wake_all # pollers did not ask it meanwhile
            next unless @state == :closing
            @feed&.end
            @readers.wake
            release if nobody_waits?
          end
        end

        # PULL and SUB send nothing, PUSH and PUB receive nothing.
        def receives? = @type != PUSH && @type != PUB && !@publisher

        def sends? = @type != PULL && @type != SUB

        private

        def end_proxy
          @state = :closing
          @context.note_linger(@lent_linger)
          @proxy.end
        end
      end
    end
  end
end
