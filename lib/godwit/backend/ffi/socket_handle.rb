# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # A libzmq socket and those who wait for it. It knows no Socket, so that this can be
      # collected.
      # @private
      class SocketHandle
        include FairYield

        LINGER = Options.fetch(:linger).id
        EVENTS = Options.fetch(:events).id
        FD = Options.fetch(:zmq_fd).id
        RECEIVE_TIMEOUT = Options.fetch(:recv_timeout).id
        MARKS = %i[send_hwm recv_hwm].map { |name| Options.fetch(name).id }.freeze
        SEND_TIMEOUT = Options.fetch(:send_timeout).id
        LAST_ENDPOINT = Options.fetch(:last_endpoint).id
        RELAXED = Options.fetch(:relaxed).id
        CORRELATE = Options.fetch(:correlate).id
        TYPE = Options.fetch(:type).id
        USE_FD = Options.fetch(:use_fd).id
        XPUB_VERBOSER = Options.fetch(:xpub_verboser).id

        attr_reader :zmq, :exclusive, :context, :type, :fd, :io, :queue, :monitor_waiters, :state,
          :monitor_pump, :encoding
        attr_accessor :copy_threshold, :receive_timeout, :send_timeout, :relaxed, :correlate,
          :peers, :counting

        # @raise [Failed]
        def initialize(context, type, conflate)
          @context = context
          # A PUB is an XPUB inside (ADR 2); libzmq conflates no XPUB.
          @publisher = type == PUB && !conflate
          @takes_turns = type == REQ || type == REP
          @type = @publisher ? XPUB : type
          @generation = ForkDetector.now
          @lock = thread_safe_type? ? context.lock_of_thread_safe : Lock.new
          @exclusive = Lock.new
          @mutex = @lock.mutex
          @queue = WaitQueue.new
          @waiters = @queue.waiters
          @monitor_waiters = WaitQueue.new # who wait for its monitor
          self.encoding = Encoding::BINARY
          @receive_timeout = @send_timeout = -1
          @counting = false
          @turns = @only_turn = 0
          @incoming = Zmq.new_message
          @incoming_address = @incoming.address
          become :open
          # With its lock held: a context that closes meanwhile closes it once it is made.
          @lock.synchronize do
            context.enter(self)
            begin
              make
              made = true
            ensure
              unless made # libzmq refused, or a trap handler raised, at any point
                become :closed # a context that closes meanwhile knows it, and has nothing to close
                close_drafts
                Zmq.zmq_close(@zmq) if @zmq
                context.leave(self)
              end
            end
          end
        end

        def publisher? = @publisher

        def encoding=(encoding)
          @encoding = encoding
          @binary = encoding.equal?(Encoding::BINARY)
        end

        def forked? = @generation != ForkDetector::PAGE.get_int32(0)

        def closed? = @state != :open && @state != :in_proxy

        def in_proxy? = @state == :in_proxy

        # @raise [Failed] when the socket may not be used
        def check(in_proxy: false)
          raise Failed, ClosedError if closed?
          raise Failed, ForkedError if forked?
          raise Failed, BusyError if @state == :in_proxy && !in_proxy
        end

        # Runs the block with the lock held.
        # @raise [Failed]
        def locked
          result = @lock.synchronize { yield }
          close if @close_due
          result
        rescue Lock::Held
          raise Failed.in_handler("socket")
        end

        # Runs the block with the lock held on an open socket. A call that fails may have emptied
        # libzmq's mailbox all the same, when libzmq ends above all, and others wait for what was in
        # it.
        # @raise [Failed]
        def use(in_proxy: false)
          locked do
            check(in_proxy: in_proxy)
            begin
              yield
            rescue Failed
              settle if @open
              raise
            end
          end
        end

        # Tries until the block gives something else than AGAIN, or time is up: AGAIN. Between two
        # tries it waits. The block must have emptied libzmq's mailbox when it says so (ADR 1).
        # @param in_proxy whether it may be done while a proxy has the socket
        # @raise [Failed]
        def attempt(deadline, events, queue = @queue, in_proxy: false)
          outcome = io = waiter = nil
          again = true
          while again
            outcome = use(in_proxy: in_proxy) do
              tried = yield
              if AGAIN.equal?(tried) && deadline != 0
                # A thread-safe socket's descriptor is still readable for what the last calls have
                # seen, or for what came since this one.
                next ONCE_MORE if queue.equal?(@queue) && take_signal
                io = queue.equal?(@queue) ? @io : @monitor_pump.io
                @monitor_pump&.look if queue.equal?(@queue)
                # Known here before it enters: an interrupt leaves no waiter behind.
                waiter = Waiter.new(queue.spare, events)
                queue.enter(waiter)
              end
              tried
            end
            next if ONCE_MORE.equal?(outcome)
            break unless waiter
            again = waiter.pause(io, deadline) || !Clock.passed?(deadline)
            leave(queue, waiter)
            waiter = nil
          end
          outcome.nil? ? AGAIN : outcome
        ensure
          leave(queue, waiter) if waiter
        end

        # ---- who waits; called with the lock held ----

        # After each libzmq call on the socket: it may have swallowed the edge that another waits
        # for. An edge-triggered epoll remembers whether the descriptor was written or read since
        # the last look.
        def settle
          # Of a poller no call swallows a signal.
          @queue.wake if !@queue.empty? && !@poller && edge_passed?
        end

        # A REQ and a REP are in another state after each message, which serves others with no edge
        # to tell of it.
        def settle_turn
          @takes_turns ? wake_all : settle
        end

        def wake_all
          @queue.wake
          @watches&.each_key(&:touch)
        end

        # A poller watches it, or no longer.
        def watch(watch)
          (@watches ||= {}.compare_by_identity)[watch] = true
        end

        def unwatch(watch)
          @watches&.delete(watch)
        end

        # @return [Integer] libzmq's bits
        # @raise [Failed]
        def events
          take_signal # before libzmq empties its mailbox, never after
          get(EVENTS)
        end

        # @raise [Failed]
        def get(id) = OptionKinds.get(@zmq, OptionKinds.fetch(id)) { |error| interrupted?(error) }

        # @raise [Failed]
        # Whether it has or had an endpoint: from then on its high-water marks are fixed.
        attr_accessor :attached

        def set(id, value)
          error = OptionKinds.set(@zmq, OptionKinds.fetch(id), value)
          raise Failed, error unless error.zero?
        end

        # Whether the descriptor was written or read since the last look.
        def edge_passed?
          unless @edges
            @edges = LibC.epoll_io
            LibC.watch(@edges, @fd, LibC::EPOLLIN | LibC::EPOLLOUT | LibC::EPOLLET)
            @edge_buffer = ::FFI::MemoryPointer.new(LibC::EVENT_SIZE)
          end
          LibC.epoll_wait(@edges.fileno, @edge_buffer, 1, 0) != 0
        rescue Failed
          true # it cannot be known
        end

        # ---- its end ----

        # Marks, wakes, and closes; when somebody waits the last to leave does: the descriptor's
        # number is reused at once. Called again it finishes what a trap handler's error left.
        def close
          @lock.synchronize do
            @close_due = false
            next if @state == :closed
            next end_proxy if @proxy
            unless @state == :closing
              note_linger
              become :closing
            end
            @monitor_pump&.end
            wake_all
            @monitor_waiters.wake
            release_unused
          end
        rescue Lock::Held # a trap handler interrupted a call on it: that one closes it
          @close_due = true
        end

        # The Socket was collected: who still waits is a fiber that was, too.
        def collected
          return if forked?
          @lock.synchronize do
            next if @zmq.nil?
            become :closing
            release
          end
        end

        # Closes the libzmq socket without linger and makes a new one in its place. Those who wait
        # try again, on the new one.
        # @raise [Failed]
        def reopen
          @peers&.stop
          before = @zmq
          make
          @attached = false
          @monitor_pump = nil unless @monitor_pump&.move(before)
          @watches&.each_key { |watch| watch.move(@fd) }
          wake_all
          @queue.drop_spares
        ensure
          supersede(before) if before && !before.equal?(@zmq)
        end

        private

        def become(state) = @open = (@state = state) == :open
      end
    end
  end
end
require_relative "socket_making"
