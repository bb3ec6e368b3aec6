# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The threads that wait for one descriptor of a socket. The socket's lock guards it. ADR 1 says
    # why all are woken.
    class Waiting
      # @return [Array<Waiter>] always the same Array
      attr_reader :waiters

      # @param handle [SocketHandle]
      # @yieldreturn [Integer] the descriptor; before each wait
      def initialize(handle, &descriptor)
        @handle = handle
        @descriptor = descriptor
        @waiters = []
      end

      def empty? = @waiters.empty?

      def enter(waiter)
        @waiters << waiter
      end

      # The last waiter to leave a closed socket closes it.
      def leave(waiter)
        @handle.lock.synchronize do
          @waiters.delete(waiter)
          @handle.close_unused
        end
      end

      def wake
        @waiters.each(&:wake)
      end

      # Wakes the threads in wait_connected.
      def wake_counting
        @waiters.each { |waiter| waiter.wake if waiter.events.zero? }
      end

      # Tries until the block gives something other than AGAIN, or time is up: AGAIN. Between two
      # tries it waits. A block that gives AGAIN has emptied libzmq's mailbox (ADR 1).
      # @param events [Integer] what it waits for; 0: peers
      # @param socket [Socket, nil] finds out why a slow wait gets nothing
      # @param in_proxy [Boolean] whether it may wait while a proxy has the socket
      # @raise [Failed]
      def attempt(deadline, events, socket: nil, in_proxy: false)
        slow_at = @handle.slow_wait.begin(deadline) if socket
        again = true
        while again
          waiter = wanted = nil
          begin
            outcome = @handle.use(in_proxy: in_proxy) do
              tried = yield
              if AGAIN.equal?(tried) && deadline != 0
                wanted = [@descriptor.call, POLLIN]
                waiter = Waiter.take(events)
                enter(waiter)
              end
              tried
            end
            return outcome unless waiter
            again = waiter.pause(wanted, [deadline, slow_at].compact.min) ||
              !Clock.passed?(deadline)
          ensure
            if waiter
              leave(waiter)
              waiter.put_back
            end
          end
          slow_at = @handle.report_slow(socket, deadline) if again && Clock.passed?(slow_at)
        end
        @handle.slow_wait.fruitless
        AGAIN
      end
    end
  end
end
