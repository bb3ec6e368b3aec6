# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The threads that wait for one descriptor of a socket. The socket's lock guards their list. ADR
    # 1 says why a wake-up wakes all of them.
    class Waiting
      # @return [Array<Waiter>] the same Array at each call, so that callers may store it
      attr_reader :waiters

      # @yieldreturn [Integer] the descriptor. The block runs before each wait
      def initialize(handle, &descriptor)
        @handle = handle
        @descriptor = descriptor
        @waiters = []
      end

      def empty? = @waiters.empty?

      def add(waiter) = @waiters << waiter

      # The removal of a closing socket's last waiter closes libzmq's socket.
      def remove(waiter)
        @handle.lock.synchronize do
          @waiters.delete(waiter)
          @handle.release_unused
        end
      end

      def wake = @waiters.each(&:wake)

      # Wakes the threads in wait_connected.
      def wake_counting
        @waiters.each { |waiter| waiter.wake if waiter.events.zero? }
      end

      # Calls the block, and waits between two calls, until the block gives something other than
      # AGAIN or time is up. A block that gives AGAIN has emptied libzmq's mailbox (ADR 1).
      # @param events [Integer] what the thread waits for: READABLE, WRITABLE, 0 for peers
      # @param socket [Socket, nil] the Socket whose slow wait is diagnosed; nil: no diagnosis
      # @param in_proxy [Boolean] whether the thread may wait while a proxy uses the socket
      def attempt(deadline, events, socket: nil, in_proxy: false)
        slow_at = @handle.slow_wait.begin(deadline) if socket
        outcome = AGAIN
        last = false
        while AGAIN.equal?(outcome) && !last
          last = Clock.passed?(deadline)
          waiter = wanted = nil
          begin
            outcome = @handle.use(in_proxy: in_proxy) do
              tried = yield
              if AGAIN.equal?(tried) && !last
                wanted = [@descriptor.call, POLLIN]
                waiter = Waiter.claim(events)
                add(waiter)
              end
              tried
            end
            waiter&.pause(wanted, [deadline, slow_at].compact.min)
          ensure
            if waiter
              remove(waiter)
              waiter.release
            end
          end
          next unless waiter && Clock.passed?(slow_at) && !Clock.passed?(deadline)
          slow_at = @handle.slow_wait.report(socket, deadline)
          @handle.disturb
        end
        @handle.slow_wait.fruitless if slow_at && AGAIN.equal?(outcome)
        outcome
      end
    end
  end
end
