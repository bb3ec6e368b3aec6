# frozen_string_literal: true

require_relative "monitor/event"

module Godwit
  # The events of a socket's connections: connected, refused and why, disconnected. {Socket#monitor}
  # makes one.
  #
  #   monitor = push.monitor(:connected, :disconnected)
  #   monitor.next_event(timeout: 1)   # => an Event, or TimeoutError
  #   monitor.each { |event| puts event }   # until the socket is closed
  #
  # A socket may have any number of Monitors; each gets the events that happen after its creation.
  # libzmq has no events for inproc. {file:docs/monitor.md} is the guide. An unread Monitor blocks
  # nothing: it stores the last `limit` events and counts the {#dropped} ones.
  #
  # **Threads and fibers**: any number may read one Monitor; each event goes to one of them.
  # {#close}, and whatever ends a wait of the {Socket}, ends their waits. **Fork**: in a child a
  # Monitor raises {ForkedError}.
  # @see http://api.zeromq.org/4-3:zmq-socket-monitor zmq_socket_monitor(3)
  class Monitor
    include Enumerable

    # Unread events that a Monitor stores by default.
    LIMIT = 10_000

    MAX = (1 << 62) - 1 # largest limit, which fits a C long
    private_constant :MAX

    # @param socket [Socket]
    # @param events [Array<Symbol>] some of {EVENTS}; none: all
    # @param limit [Integer, nil] most unread events that the Monitor stores; older ones are
    #   dropped. nil: no limit
    # @raise [ArgumentTypeError] when `socket` is no Socket
    # @raise [ArgumentValueError] for an unknown event or a wrong limit
    # @raise [ClosedError, ContextTerminatedError, ForkedError]
    # @raise [TooManySocketsError] when the context or the process can open no further socket. All
    #   Monitors of a socket together use two descriptors
    def initialize(socket, *events, limit: LIMIT)
      unless socket.is_a?(Socket)
        raise Errors.bad_type(:monitor, "the socket", "a Godwit::Socket", socket)
      end
      allowed = limit.nil? || (limit.is_a?(Integer) && limit.between?(1, MAX))
      unless allowed
        raise Errors.bad_value(:monitor, "limit:",
          "a number of events, 1 or more, or nil for no limit", limit)
      end
      raise Errors.open_already(:monitor, "monitor", "Socket#monitor") if @socket
      bits = Monitor.bits(events.empty? ? EVENTS : events, :monitor)
      _open(socket, bits, limit || 0)
      @socket = socket
    end

    # @return [Socket] the socket whose events the Monitor gets
    attr_reader :socket

    # The next event; waits for one. After the socket's close, earlier events can still be read.
    # @param timeout [Integer, Float, nil] seconds; nil: for ever
    # @param exception [Boolean] false: nil instead of TimeoutError
    # @return [Event] nil when time is up and `exception: false`
    # @raise [TimeoutError] when time is up
    # @raise [ClosedError] when the Monitor or its socket was closed, and no event remains
    # @raise [ContextTerminatedError, ForkedError]
    def next_event(timeout: nil, exception: true)
      event = dequeue(Timeout.milliseconds(timeout))
      return event if event || !exception
      raise Errors.build(TimeoutError, :next_event, endpoints, "nothing happened")
    end
    alias_method :recv, :next_event

    # The next event, without waiting.
    # @param exception [Boolean] false: :wait_readable instead of an error
    # @return [Event] or :wait_readable when there is no event and `exception: false`
    # @raise [EAGAINWaitReadable] (an IO::WaitReadable) when there is no event
    # @raise [ClosedError, ContextTerminatedError, ForkedError]
    def recv_nonblock(exception: true)
      dequeue(0) || begin
        return :wait_readable unless exception
        raise Errors.build(EAGAINWaitReadable, :recv_nonblock, endpoints,
          "nothing has happened; next_event waits")
      end
    end

    # Yields each event, until the Monitor, its socket or its context is closed; earlier events come
    # first.
    # @yieldparam event [Event]
    # @return [self] or, without a block, an Enumerator
    def each
      return to_enum(:each) unless block_given?
      while (event = dequeue_or_end)
        yield event
      end
      self
    end

    # Asks libzmq for the number of messages in each connection's pipes: one :pipes_stats event per
    # connection, with {Event#values} outbound and inbound.
    # @return [self]
    # @raise [UnsupportedError] on a libzmq without drafts, and over FFI
    # @raise [ClosedError, ContextTerminatedError, ForkedError]
    # @see http://api.zeromq.org/4-3:zmq-socket-monitor zmq_socket_monitor_pipes_stats, a draft
    def pipes_stats
      return self unless _pipes_stats.nil?
      raise Errors.build(UnsupportedError, :pipes_stats, nil,
        "it needs the C extension and a libzmq built with ENABLE_DRAFTS")
    end

    # @return [Integer] events that were dropped unread
    def dropped = _dropped
    # Stops listening and drops unread events; the socket stays open. A second call does nothing.
    # @return [nil]
    def close = _close
    # @return [Boolean] whether the Monitor or its socket was closed; earlier events may remain
    def closed? = _closed?
    # @return [String]
    def inspect = "#<#{self.class} of #{@socket.inspect}#{" (closed)" if closed?}>"
    alias_method :to_s, :inspect

    # @private
    def initialize_copy(_) = raise(Errors.no_copy("monitor", "Socket#monitor makes another"))

    private

    def dequeue(milliseconds)
      bit, values, local, remote = _next(milliseconds)
      return unless bit
      return Event.new(bit, values, local) unless remote
      Event.new(bit, values, endpoint(local, remote), local, remote)
    end

    # @return [Event, nil] nil after a close
    def dequeue_or_end
      dequeue(-1)
    rescue ClosedError, ContextTerminatedError
      nil
    end

    # libzmq's events of version 1 name one endpoint of a connection, those of version 2 both.
    # @return [String] the endpoint that an event of version 1 would name
    def endpoint(local, remote)
      return local if remote.empty?
      (local.empty? || @socket.endpoints.none?(local)) ? remote : local
    end

    def endpoints = @socket.endpoints.empty? ? nil : @socket.endpoints.join(", ")
  end
end
