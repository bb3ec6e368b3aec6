# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Law 2: any libzmq call on a socket may consume the edge of ZMQ_FD that another waiter needs.
    # A socket is called only in `use` and `attempt`, which settle. The libzmq calls that move
    # frames and read or set options are here and in fast_path.rb (test/ffi/layers_test.rb).
    class SocketHandle
      SLOW = Constants::SLOW_WAIT / 1000.0
      private_constant :SLOW

      # Runs the block with the lock held on an open socket, then settles.
      # @param in_proxy whether it may run while a proxy has the socket
      # @raise [Failed]
      def use(in_proxy: false, &block)
        locked { settled(in_proxy, &block) }
      end

      # Tries until the block gives something other than AGAIN, or time is up: AGAIN. Between two
      # tries it waits. A block that gives AGAIN has emptied libzmq's mailbox (ADR 1).
      # @param socket [Socket, nil] finds out why a slow wait gets nothing, by `_look`
      # @raise [Failed]
      def attempt(deadline, events, queue = @queue, in_proxy: false, socket: nil, &block)
        look_at = Clock.now + SLOW if socket && deadline != 0 && (deadline || !@looked)
        again = true
        while again
          io = waiter = nil
          begin
            outcome = locked do
              tried = settled(in_proxy, &block)
              next tried if !AGAIN.equal?(tried) || deadline == 0
              @monitor_pump&.look if queue.equal?(@queue)
              io = queue.equal?(@queue) ? @io : @monitor_pump.io
              waiter = queue.spare(events)
              queue.enter(waiter)
              tried
            end
            return outcome unless waiter
            again = waiter.pause(io, [deadline, look_at].compact.min) || !Clock.passed?(deadline)
          ensure
            leave(queue, waiter) if waiter
          end
          next unless again && look_at && Clock.passed?(look_at)
          @looked = true if deadline.nil?
          @looking = true if socket.__send__(:_look, !deadline.nil?)
          look_at = deadline && Clock.now + SLOW / 2
        end
        @fruitless = true
        AGAIN
      end

      # At the first call after a slow wait that got its message.
      # @return [Boolean] whether the socket ends its look for the reason
      def stop_looking?
        return false unless @looking
        @looking = @fruitless
        @fruitless = false
        !@looking
      end

      # Wakes the waiters if the descriptor was written or read since the last look.
      def settle
        @queue.wake if !@queue.empty? && edge_passed?
      end

      # After a message: a REQ and a REP are in another state, without an edge that reports it.
      def settle_turn
        wake_all if @takes_turns
      end

      def wake_all
        @queue.wake
        @watches&.each_key(&:touch)
      end

      # An edge-triggered epoll remembers what happened since the last look.
      # @return [Boolean]
      def edge_passed?
        unless @edges
          @edges = LibC.epoll_io
          LibC.watch(@edges, @fd, LibC::EPOLLIN | LibC::EPOLLOUT | LibC::EPOLLET)
          @edge_buffer = ::FFI::MemoryPointer.new(LibC::EVENT_SIZE)
        end
        LibC.epoll_wait(@edges.fileno, @edge_buffer, 1, 0) != 0
      rescue Failed
        true # no descriptor is left to look with
      end

      # @return [Integer] libzmq's bits
      # @raise [Failed]
      def events = get(EVENTS)

      # @raise [Failed]
      def get(id) = OptionKinds.get(@zmq, id)

      # The socket may be readable or writable then, without an edge that reports it.
      # @raise [Failed]
      def set(id, value)
        OptionKinds.set(@zmq, id, value)
      ensure
        wake_all
      end

      # @return [Integer] bytes of one frame; or an errno below zero
      def receive_part(message = @incoming)
        repeated { Zmq.zmq_msg_recv(message, @zmq, DONTWAIT) }
      end

      # @return [Integer] an errno, or 0
      def send_bytes(bytes, flags)
        -[repeated { Zmq.zmq_send(@zmq, bytes, bytes.bytesize, flags | DONTWAIT) }, 0].min
      end

      # @return [Integer] an errno, or 0
      def send_message(message, flags)
        -[repeated { Zmq.zmq_msg_send(message, @zmq, flags | DONTWAIT) }, 0].min
      end

      private

      # Calls libzmq again when a signal ended the call. In a forked child it gives EINTR for
      # ever.
      # @return [Integer] what libzmq gave, or an errno below zero
      def repeated
        code = Zmq.result(yield)
        code = Zmq.result(yield) while code == -EINTR && !forked?
        code
      end

      def settled(in_proxy)
        check(in_proxy: in_proxy)
        begin
          yield
        ensure
          settle
        end
      end

      def leave(queue, waiter)
        @lock.synchronize do
          queue.leave(waiter, keep: queue.equal?(@queue) && @state == :open)
          release_unused # the last waiter to leave a closed socket closes it
        end
      end
    end
  end
end
