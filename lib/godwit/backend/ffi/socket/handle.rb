# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The lifetime of a socket, and its lock. It does not refer to the Socket, so that the Socket
    # can be collected. Others move its messages: `sender`, `receiver`; wait: `waiting`; or know
    # its peers: `monitor`.
    class SocketHandle
      LINGER, XPUB_VERBOSER = %i[linger xpub_verboser].map { |name| Options.fetch(name).id }
      private_constant :LINGER, :XPUB_VERBOSER

      attr_reader :context, :type, :raw, :lock, :exclusive, :state, :waiting, :slow_wait, :sender,
        :receiver, :monitor
      attr_accessor :copy_threshold
      # @return [Boolean] whether it has or had an endpoint: then its high-water marks are fixed
      attr_accessor :attached

      # @param conflate [Boolean] whether it conflates
      # @raise [Failed]
      def initialize(context, type, conflate)
        @context = context
        # A PUB is an XPUB inside (ADR 2); libzmq conflates no XPUB.
        @publisher = type == PUB && !conflate
        @type = @publisher ? XPUB : type
        @takes_turns = type == REQ || type == REP
        @generation = ForkDetector::COUNT[0]
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
        # With the lock held: a context that closes meanwhile waits, and then closes this socket.
        @lock.synchronize { make_within_context }
      end

      def publisher? = @publisher

      def forked? = @generation != ForkDetector::COUNT[0]

      def closed? = @state == :closing || @state == :closed

      def in_proxy? = @state == :in_proxy

      # @raise [Failed] when the socket may not be used
      def check(in_proxy: false)
        raise Failed, ClosedError if closed?
        raise Failed, ForkedError if forked?
        raise Failed, BusyError if @state == :in_proxy && !in_proxy
      end

      # Law 2: any call of libzmq on the socket may consume the edge of ZMQ_FD that a waiter needs.
      # So it is called only in this block, with the lock held, and waiters are woken at its end.
      # @param in_proxy [Boolean] whether it may run while a proxy has the socket
      # @raise [Failed]
      def use(in_proxy: false)
        @lock.synchronize do
          check(in_proxy: in_proxy)
          begin
            yield
          ensure
            @waiting.wake if !@waiting.empty? && @raw.edge_passed?
          end
        end
      end

      # Whether a call on a socket without waiters may do without `use`, as far as others know.
      def calm? = @calm && !forked?

      # A call in `use` ended all that others do at each call.
      def calm
        @calm = @state == :open
      end

      def disturb
        @calm = false
      end

      # After a message: a REQ and a REP are in another state, without an edge that reports it.
      def settle_turn
        @waiting.wake if @takes_turns
      end

      # @param socket [Socket] that waits
      # @return [Float, nil] when the wait is to be reported again
      def report_slow(socket, deadline)
        @slow_wait.report(socket, deadline).tap { disturb }
      end

      # Marks the socket and wakes its waiters. The last waiter to leave closes it, since the
      # descriptor's number is reused at once.
      def close
        @lock.synchronize do
          next if @state == :closed
          next end_proxy if @proxy
          record_linger unless @state == :closing
          become :closing
          @monitor.end
          @waiting.wake
          close_unused
        end
      end

      # The Socket was collected.
      def collected
        return if forked?
        @lock.synchronize do
          next if @state == :closed
          become :closing
          release
        end
      end

      # Closes the socket when it is to be closed and has no waiters.
      def close_unused
        return if @state != :closing || @proxy || forked?
        release if @waiting.empty? && @monitor.waiting.empty?
      end

      # Closes libzmq's socket without linger and makes a new one in its place. The waiters try
      # again on the new one.
      # @raise [Failed]
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

      # From here on only the proxy's loop calls libzmq on the socket. A waiter would call it when
      # it wakes; a waiting Poller does not.
      # @raise [Failed]
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

      # Any thread may use it again. A socket that was closed meanwhile is closed now.
      def release_from_proxy
        @lock.synchronize do
          @proxy = nil
          become :open if @state == :in_proxy
          @waiting.wake
          next unless @state == :closing
          @monitor.end
          close_unused
        end
      end

      private

      def become(state)
        @state = state
        @calm = false
      end

      def make_within_context
        @context.enter(self)
        begin
          make
        ensure
          unless @raw
            become :closed
            @context.leave(self)
          end
        end
      end

      def make
        raw = RawSocket.new(@context, @type)
        # All that a SUB may not have sent are subscriptions, and libzmq's own default is 0.
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
        @context.leave(self)
        become :closed
      end
    end
  end
end
