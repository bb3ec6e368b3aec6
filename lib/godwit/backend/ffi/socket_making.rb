# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      class SocketHandle
        # A socket handle's first and last moments: making and closing libzmq's socket.

        private

        def make
          attempts = 0
          begin
            @context.check_descriptors
            zmq = Zmq.zmq_socket(@context.zmq, @type)
            raise Failed, ::FFI.errno if zmq.null?
          rescue Failed => failed
            unless [Errno::EMFILE::Errno, Errno::ENFILE::Errno].include?(failed.what) &&
                (attempts += 1) == 1
              raise
            end
            Collector.run # as Ruby does for its files: what was dropped may hold descriptors
            retry
          end
          @zmq = zmq
          @context.started
          @address = zmq.address
          # A SUB's subscriptions are all that it could have unsent, and libzmq's own default is 0.
          set_linger(zmq, (@type == SUB) ? 0 : @context.linger)
          open_drafts
          @fd = get(FD) unless @poller
          @io = IO.for_fd(@fd, autoclose: false)
          set(XPUB_VERBOSER, 1) if @publisher
          @edges = nil
          start_sending
        end

        def supersede(zmq)
          set_linger(zmq, 0)
        ensure
          Zmq.zmq_close(zmq)
        end

        def set_linger(zmq, milliseconds)
          OptionKinds.set(zmq, OptionKinds.fetch(LINGER), milliseconds)
        end

        def note_linger
          @context.note_linger(get(LINGER))
        rescue Failed
          nil
        end

        def nobody_waits? = @queue.empty? && @monitor_waiters.empty?

        def leave(queue, waiter)
          @lock.synchronize { depart(queue, waiter) }
        rescue Lock::Held
          nil
        end

        # Closes it when it is to be closed and nobody waits.
        def release_unused
          release if @state == :closing && nobody_waits? && !@proxy && !forked?
        end

        # A trap handler's error may end it anywhere: it may be done again.
        def release
          note_linger
          @monitor_pump&.end
          @peers&.stop
          @monitor_pump&.free
          @queue.drop_spares
          @only_waiter&.wake_up&.close
          @edges&.close
          @watches&.each_key(&:detach)
          close_drafts
          Zmq.zmq_close(@zmq)
          @zmq = @address = nil
          Zmq.zmq_msg_close(@incoming)
          @context.leave(self)
          become :closed
        end
      end
    end
  end
end
