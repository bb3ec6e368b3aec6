# frozen_string_literal: true

require_relative "monitor/table"
require_relative "monitor/event"

module Godwit
  # Tells what happens to a socket's connections: who came, who was refused and why, who is gone.
  # {Socket#monitor} makes one.
  #
  #   monitor = push.monitor(:connected, :disconnected)
  #   monitor.next_event(timeout: 1)   # => an Event, or TimeoutError
  #   monitor.each { |event| puts event }   # until the socket is closed
  #
  # Any number of Monitors listen to one socket; each gets every event that it asked for from its
  # making on. libzmq tells of tcp, ipc and the like, but nothing of inproc. {file:docs/monitor.md}
  # is the guide.
  #
  # **One that nobody reads** stops nothing: it keeps the last `limit` events and counts what it
  # {#dropped}.
  #
  # **Threads and fibers**: any number may read one Monitor; each event goes to one of them. Every
  # wait ends on `Thread#kill`, `Thread#raise`, `Timeout`, signals, {#close}, the socket's close and
  # {Context#shutdown}. **Fork**: in a child it raises {ForkedError}.
  #
  # @see http://api.zeromq.org/4-3:zmq-socket-monitor zmq_socket_monitor(3)
  class Monitor
    include Enumerable

    # Events that a Monitor keeps where nothing else is said.
    LIMIT = 10_000

    MOST = (1 << 62) - 1 # that fit a C long
    private_constant :MOST

    # @param socket [Socket]
    # @param events [Array<Symbol>] of {EVENTS}; none: all
    # @param limit [Integer, nil] most events that it keeps for a reader who is late; the oldest are
    #   dropped. nil: no limit
    # @raise [ArgumentTypeError] when it is no Socket
    # @raise [ArgumentValueError] when an event is unknown, or the limit not allowed
    # @raise [ClosedError, ContextTerminatedError, ForkedError]
    # @raise [TooManySocketsError] when the context or the process has no room: it takes two
    #   descriptors, whatever the number of Monitors
    def initialize(socket, *events, limit: LIMIT)
      unless socket.is_a?(Socket)
        raise Errors.bad_type(:monitor, "the socket", "a Godwit::Socket", socket)
      end
      unless limit_allowed?(limit)
        raise Errors.bad_value(
          :monitor, "limit:", "a number of events, 1 or more, or nil for no limit", limit
        )
      end
      if @socket
        raise Errors.build(
          StateError, :monitor, nil, "this monitor is open already; Socket#monitor makes another"
        )
      end
      bits = Monitor.bits(events.empty? ? EVENTS : events, :monitor)
      _open(socket, bits, limit || 0)
      @socket = socket
    end

    # @return [Socket] the one it listens to
    attr_reader :socket

    # The next event; waits for one. What came before the socket's close is still handed out after
    # it.
    # @param timeout [Integer, Float, nil] seconds; nil: for ever
    # @param exception [Boolean] false: nil instead of TimeoutError
    # @return [Event] nil when time is up and `exception: false`
    # @raise [TimeoutError] when time is up
    # @raise [ClosedError] when it, or the socket, was closed and nothing is left
    # @raise [ContextTerminatedError, ForkedError]
    def next_event(timeout: nil, exception: true)
      event = take(Timeout.milliseconds(timeout))
      return event if event || !exception
      raise Errors.build(TimeoutError, :next_event, places, "nothing happened")
    end
    alias_method :recv, :next_event

    # The next event, if there is one.
    # @param exception [Boolean] false: :wait_readable instead of an error
    # @return [Event] or :wait_readable when there is none and `exception: false`
    # @raise [EAGAINWaitReadable] (an IO::WaitReadable) when there is none
    # @raise [ClosedError, ContextTerminatedError, ForkedError]
    def recv_nonblock(exception: true)
      take(0) || begin
        return :wait_readable unless exception
        raise Errors.build(
          EAGAINWaitReadable, :recv_nonblock, places, "nothing has happened; next_event waits"
        )
      end
    end

    # Yields each event, until the Monitor, its socket or its context is closed; what came before
    # that is handed out first.
    # @yieldparam event [Event]
    # @return [self] or, without a block, an Enumerator
    # @raise [ForkedError]
    def each
      return to_enum(:each) unless block_given?
      while (event = take_or_end)
        yield event
      end
      self
    end

    # Has libzmq tell how many messages wait in each connection's pipes: a :pipes_stats for each,
    # with {Event#values} outbound and inbound.
    # @return [self]
    # @raise [UnsupportedError] when this libzmq has no drafts
    # @raise [ClosedError, ContextTerminatedError, ForkedError]
    # @see http://api.zeromq.org/4-3:zmq-socket-monitor zmq_socket_monitor_pipes_stats, a draft
    def pipes_stats
      if _pipes_stats.nil?
        raise Errors.build(
          UnsupportedError, :pipes_stats, nil, "it needs a libzmq built with ENABLE_DRAFTS"
        )
      end
      self
    end

    # @return [Integer] events that went by since nobody read them in time
    def dropped = _dropped

    # Stops listening; the socket goes on. What was not read is gone. A second call does nothing.
    # @return [nil]
    def close = _close

    # @return [Boolean] whether nothing more comes: it, or its socket, was closed. What came before
    #   that may still be there
    def closed? = _closed?

    # @return [String]
    def inspect
      "#<#{self.class} of #{@socket.inspect}#{" (closed)" if closed?}>"
    end
    alias_method :to_s, :inspect

    # dup and clone make no sense.
    # @private
    def initialize_copy(_original)
      raise Errors.build(
        UnsupportedError, :dup, nil, "a monitor cannot be copied: Socket#monitor makes another"
      )
    end

    private

    def limit_allowed?(limit) = limit.nil? || (limit.is_a?(Integer) && limit.between?(1, MOST))

    def take(milliseconds)
      bit, values, local, remote = _next(milliseconds)
      bit &&
        Event.new(bit, values, remote ? place(local, remote) : local, *([local, remote] if remote))
    end

    # @return [Event, nil] nil at the end
    def take_or_end
      take(-1)
    rescue ClosedError, ContextTerminatedError
      nil
    end

    # libzmq 4.3's first version of events names the end that the socket was told of; the second
    # names both.
    def place(local, remote)
      return local if remote.empty?
      (local.empty? || @socket.endpoints.none?(local)) ? remote : local
    end

    def places = @socket.endpoints.empty? ? nil : @socket.endpoints.join(", ")
  end
end
