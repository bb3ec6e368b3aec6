# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A libzmq socket and its waiters. It does not refer to the Socket, so that the Socket can be
    # collected.
    class SocketHandle
      include FairYield

      EVENTS, FD, LINGER, TYPE, USE_FD, LAST_ENDPOINT, RECEIVE_MORE,
        RECEIVE_TIMEOUT, SEND_TIMEOUT, XPUB_VERBOSER, CONFLATE = %i[
          events zmq_fd linger type use_fd last_endpoint recv_more
          recv_timeout send_timeout xpub_verboser conflate
        ].map { |name| Options.fetch(name).id }
      NAMED = SOCKET_TYPES.fetch_values(:ROUTER, :STREAM).freeze
      MARKS = %i[send_hwm recv_hwm].map { |name| Options.fetch(name).id }.freeze

      attr_reader :zmq, :exclusive, :context, :type, :fd, :io, :queue, :monitor_waiters, :state,
        :monitor_pump, :encoding
      attr_accessor :copy_threshold, :receive_timeout, :send_timeout, :counting
      # @return [Boolean] whether it has or had an endpoint: then its high-water marks are fixed
      attr_accessor :attached
      # It conflates: its messages have one frame.
      attr_writer :single

      # @raise [Failed]
      def initialize(context, type, conflate)
        @context = context
        # A PUB is an XPUB inside (ADR 2); libzmq conflates no XPUB.
        @publisher = type == PUB && !conflate
        @takes_turns = type == REQ || type == REP
        @type = @publisher ? XPUB : type
        @named = NAMED.include?(type)
        @simple = !@named && !@publisher && !@takes_turns
        @generation = ForkDetector::COUNT[0]
        @lock = Lock.new("socket")
        @exclusive = Lock.new("socket")
        @mutex = @lock.mutex
        @queue = WaitQueue.new
        @waiters = @queue.waiters
        @monitor_waiters = WaitQueue.new
        self.encoding = Encoding::BINARY
        @receive_timeout = @send_timeout = -1
        @counting = @single = false
        @calls_since_yield = 0
        @incoming = Zmq.new_message
        @incoming_address = @incoming.address
        become :open
        # With the lock held: a context that closes meanwhile waits, and then closes this socket.
        @lock.synchronize { make_within_context }
      end

      def publisher? = @publisher

      def encoding=(encoding)
        @encoding = encoding
        @binary = encoding.equal?(Encoding::BINARY)
      end

      # Whether the type takes a String: a ROUTER and a STREAM do not.
      def takes_string? = !@named

      # Whether the type takes this message.
      def fits?(message)
        several = message.is_a?(Array) && message.size > 1
        @named ? several : !(@single && several)
      end

      def forked? = @generation != ForkDetector::COUNT[0]

      def closed? = @state != :open && @state != :in_proxy

      def in_proxy? = @state == :in_proxy

      # @raise [Failed] when the socket may not be used
      def check(in_proxy: false)
        raise Failed, ClosedError if closed?
        raise Failed, ForkedError if forked?
        raise Failed, BusyError if @state == :in_proxy && !in_proxy
      end

      # Runs the block with the lock held, whatever the socket's state.
      # @raise [Failed] in a trap handler that interrupted a call on the socket
      def locked(&block) = @lock.synchronize(&block)

      # A poller watches the socket.
      def watch(watch)
        (@watches ||= {}.compare_by_identity)[watch] = true
      end

      def unwatch(watch)
        @watches&.delete(watch)
      end

      # Marks the socket and wakes its waiters. The last waiter to leave closes it, since the
      # descriptor's number is reused at once.
      def close
        @lock.synchronize do
          next if @state == :closed
          next end_proxy if @proxy
          record_linger unless @state == :closing
          become :closing
          @monitor_pump&.end
          wake_all
          @monitor_waiters.wake
          release_unused
        end
      rescue Failed # a trap handler interrupted a call on it
        Thread.new { close }
      end

      # The Socket was collected. If a waiter remains, its fiber was collected as well.
      def collected
        return if forked?
        @lock.synchronize do
          next if @zmq.nil?
          become :closing
          release
        end
      end

      # Closes the libzmq socket without linger and makes a new one in its place. The waiters try
      # again on the new one.
      # @raise [Failed]
      def reopen
        before = @zmq
        stop_counting
        make
        @attached = false
        @monitor_pump = nil unless @monitor_pump&.move(before)
        @watches&.each_key { |watch| watch.move(@fd) }
        wake_all
        @queue.drop_spares
      ensure
        unless before.equal?(@zmq)
          set_linger(before, 0)
          Zmq.zmq_close(before)
        end
      end

      private

      def become(state) = @open = (@state = state) == :open

      def make_within_context
        @context.enter(self)
        begin
          make
          made = true
        ensure
          unless made
            become :closed
            Zmq.zmq_close(@zmq) if @zmq
            @context.leave(self)
          end
        end
      end

      def make
        zmq = Collector.free_descriptors do
          @context.check_descriptors
          made = Zmq.zmq_socket(@context.zmq, @type)
          raise Failed, ::FFI.errno if made.null?
          made
        end
        @zmq = zmq
        @context.started
        @address = zmq.address
        # All that a SUB may not have sent are subscriptions, and libzmq's own default is 0.
        set_linger(zmq, (@type == SUB) ? 0 : @context.linger)
        @fd = get(FD)
        @io = IO.for_fd(@fd, autoclose: false)
        set(XPUB_VERBOSER, 1) if @publisher
        @edges = nil
        start_sending
      end

      def set_linger(zmq, milliseconds)
        OptionKinds.set(zmq, LINGER, milliseconds)
      rescue Failed
        nil # the context was terminated
      end

      def record_linger
        @context.record_linger(get(LINGER))
      rescue Failed
        nil
      end

      # Closes the socket when it is to be closed and has no waiters.
      def release_unused
        return if @state != :closing || @proxy || forked?
        release if @queue.empty? && @monitor_waiters.empty?
      end

      def release
        record_linger
        @monitor_pump&.end
        stop_counting
        @monitor_pump&.free
        @queue.drop_spares
        @edges&.close
        @watches&.each_key(&:detach)
        Zmq.zmq_close(@zmq)
        @zmq = @address = nil
        Zmq.zmq_msg_close(@incoming)
        @context.leave(self)
        become :closed
      end
    end
  end
end
