# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The lifetime of a socket, and its lock. The handle does not refer to the Socket, so that the
    # Socket can be collected. `sender` and `receiver` move messages, `waiting` has the waiting
    # threads, `monitor` the events and the count of peers.
    class SocketHandle
      LINGER, XPUB_VERBOSER = %i[linger xpub_verboser].map { |name| Options.fetch(name).id }

      attr_reader :context, :type, :raw, :lock, :exclusive, :state, :waiting, :slow_wait, :sender,
        :receiver, :monitor
      attr_accessor :copy_threshold
      # @return [Boolean] whether the socket has or had an endpoint, which fixes high-water marks
      attr_accessor :attached

      def initialize(context, type, conflate)
        @context = context
        # The libzmq socket of a PUB is an XPUB (ADR 2), but libzmq can conflate only a PUB.
        @publisher = type == PUB && !conflate
        @type = @publisher ? XPUB : type
        @takes_turns = type == REQ || type == REP
        @lock = Lock.new("socket")
        @exclusive = Lock.new("socket")
        @waiting = Waiting.new(self) do
          @monitor.drain_at_times
          @raw.fd
        end
        @slow_wait = SlowWait.new
        @monitor = SocketMonitor.new(self)
        @sender = SocketSender.new(self)
        @receiver = SocketReceiver.new(self)
        @attached = false
        @calm = true
        @state = :open
        # A context that closes meanwhile waits for this lock, and then closes the socket.
        @lock.synchronize { make_within_context }
      end

      def publisher? = @publisher

      def closed? = @state == :closing || @state == :closed

      def in_proxy? = @state == :in_proxy

      def check(in_proxy: false)
        raise Failed, ClosedError if closed?
        raise Failed, BusyError if @state == :in_proxy && !in_proxy
      end

      # Runs the block with the lock held. Every libzmq call on the socket is in such a block: the
      # call may consume an edge of ZMQ_FD that a waiter needs. If so, this method wakes the
      # waiters.
      # @param in_proxy [Boolean] whether the block may run while a proxy uses the socket
      def use(in_proxy: false)
        @lock.synchronize do
          check(in_proxy: in_proxy)
          waited_on = !@waiting.empty? # a waiter that the block adds needs no earlier edge
          begin
            yield
          ensure
            @waiting.wake if waited_on && @raw.edge_passed?
          end
        end
      end

      # @return [Boolean] whether a send or receive may skip `use` and `begin` if no thread waits
      def calm? = @calm

      # Ends the count of peers. A send or receive of the slow path calls this with the lock held.
      def begin
        @monitor.stop_counting
        @calm = @state == :open && !@slow_wait.observing?
      end

      # Makes the next send or receive call `begin`.
      def disturb
        @calm = false
      end

      # Wakes the waiters after a whole message, which switches a REQ or REP between sending
      # and receiving without an edge of ZMQ_FD.
      def settle_turn
        @waiting.wake if @takes_turns
      end

      # Marks the socket as closing and wakes its waiters. They poll its descriptor, whose number is
      # reused after a close, so the last waiter to depart closes libzmq's socket.
      def close
        raise Failed, ForkedError unless @context.own?
        @lock.synchronize do
          next if @state == :closed
          next end_proxy if @proxy
          record_linger unless @state == :closing
          become :closing
          @monitor.end
          @waiting.wake
          release_unused
        end
      end

      # Closes libzmq's socket after the garbage collector has freed the Socket.
      def collected
        @lock.synchronize do
          next if @state == :closed
          become :closing
          release
        end
      end

      # Closes libzmq's socket if this socket is closing and has no waiters.
      def release_unused
        return if @state != :closing || @proxy
        release if @waiting.empty? && @monitor.waiting.empty?
      end

      # Replaces libzmq's socket, which closes without linger. The waiters retry on the new socket.
      def reopen
        before = @raw
        @monitor.stop_counting
        make
        @attached = false
        @monitor.move(before)
        @waiting.wake
      ensure
        before.close(0) unless before.equal?(@raw)
      end

      # After this call only the proxy's loop calls libzmq on the socket. So no thread may wait on
      # the socket, except in a Poller, which makes no libzmq call on it.
      def acquire(proxy)
        use do
          raise Failed, BusyError unless @waiting.waiters.all?(&:polls)
          @monitor.stop_counting
          @proxy_linger = @raw.get(LINGER)
          @proxy = proxy
          become :in_proxy
          @waiting.wake
        end
      end

      # Lets any thread use the socket again. If it was closed while the proxy ran, it closes now.
      def release_from_proxy
        @lock.synchronize do
          @proxy = nil
          become :open if @state == :in_proxy
          @waiting.wake
          next unless @state == :closing
          @monitor.end
          release_unused
        end
      end

      private

      def become(state)
        @state = state
        @calm = false
      end

      def make_within_context
        @context.add(self)
        begin
          make
        ensure
          unless @raw
            become :closed
            @context.remove(self)
          end
        end
      end

      def make
        raw = RawSocket.new(@context, @type)
        # A SUB sends only subscriptions, and no linger is needed for them.
        raw.set(LINGER, (@type == SUB) ? 0 : @context.linger)
        raw.set(XPUB_VERBOSER, 1) if @publisher
        @sender.attach(raw)
        @receiver.attach(raw)
        @raw = raw
      ensure
        raw&.close(0) unless raw.equal?(@raw)
      end

      def record_linger
        @context.record_linger(@raw.get(LINGER))
      rescue Failed
        nil # the context was terminated
      end

      def end_proxy
        become :closing
        @context.record_linger(@proxy_linger)
        @proxy.end
      end

      def release
        record_linger
        @monitor.free
        @raw.close
        @receiver.free
        @context.remove(self)
        become :closed
      end
    end
  end
end
