# frozen_string_literal: true

require "socket"
require_relative "../godwit"

module Godwit
  # Discovery on a local network: broadcasts a short payload over UDP at an interval, and receives
  # the payloads of others. On the wire it is CZMQ's zbeacon (IPv4; a datagram is the payload).
  #
  #   Godwit::Beacon.new(9999) do |beacon|
  #     beacon.publish("work 5555")            # at once, then every second
  #     beacon.subscribe("work ")
  #     address, payload = beacon.recv(timeout: 5)
  #   end
  #
  # The Beacon has a thread, which sends and receives. Intervals follow the monotonic clock.
  #
  # **Threads, fibers, signals**: any thread may call any method; {#recv} gives each payload to one
  # caller. Waits end within 0.1 s on `Thread#kill`, `Thread#raise`, `Timeout`, signals and
  # {#close}; under a `Fiber.scheduler` other fibers run meanwhile. In a `trap` block only {#close}
  # and {#closed?} work. **Closed**: methods that send, receive or change something raise
  # {ClosedError}. **Fork**: in a child every method raises {ForkedError}; the parent's Beacon goes
  # on. **Garbage collector**: it closes a Beacon without references. **Ractors**: a Beacon belongs
  # to the Ractor that made it.
  # @see https://rfc.zeromq.org/spec/20/ ZRE, which defines a payload for such beacons
  # @see http://czmq.zeromq.org/manual:zbeacon zbeacon(3)
  class Beacon
    extend Keywords
    include Enumerable

    # Most bytes of a payload.
    MAX_BYTES = 255
    # Default of `limit:`, the most payloads that wait for {#recv}.
    LIMIT = 1000
    # Shortest interval between two broadcasts, in seconds.
    SHORTEST = 0.001

    class << self
      undef_method :allocate # a Beacon needs the thread that `initialize` starts

      # Opens a Beacon. With a block: yields it, closes it afterwards, and returns the block's
      # value.
      # @param port [Integer] see {#initialize}
      # @param options [Hash] see {#initialize}
      # @return [Beacon] or the block's value
      def new(*port, **options, &block) = AutoClose.with(super(*port, **options), &block)
    end

    # @param port [Integer] UDP port, 1 to 65535, the same for all peers; several programs on this
    #   machine may share it
    # @param interface [String, nil] name, IPv4 address, or "*": 255.255.255.255 by the default
    #   route. nil: the environment's ZSYS_INTERFACE, else the first interface with broadcast
    # @param interval [Integer, Float] seconds between two broadcasts, 0.001 or more
    # @param noecho [Boolean] whether the Beacon ignores received payloads that equal its own
    # @param limit [Integer] most payloads that wait for {#recv}, 1 or more; beyond this limit the
    #   oldest are dropped
    # @raise [ArgumentTypeError, ArgumentValueError] when an argument is not allowed
    # @raise [InterfaceError] when there is no such interface, or none that can broadcast
    # @raise [AddressInUseError] when a program uses the port and does not share it
    # @raise [AccessError, TooManySocketsError]
    def initialize(port, interface: nil, interval: 1.0, noecho: true, limit: LIMIT)
      if @thread
        raise Errors.build(StateError, :beacon, nil, "it is open already; Beacon.new makes another")
      end
      Check.port(port)
      Check.interface(interface)
      Errors.check_positive(:beacon, "limit:", "a number of beacons, 1 or more", limit)
      wanted = interface || ENV["ZSYS_INTERFACE"]
      wanted = nil if wanted.to_s.empty?
      @thread = BeaconThread.new(port, wanted, interval: Check.interval(interval),
        noecho: noecho ? true : false, limit: limit)
      ObjectSpace.define_finalizer(self, @thread.finalizer)
    end

    # Broadcasts the payload at once, then at each interval, until {#silence}, {#close} or another
    # `publish`, which replaces the payload. A failed broadcast is counted ({#failed}); the next
    # follows after the interval.
    # @param payload [String] 1 to 255 bytes, sent as they are, whatever their encoding
    # @return [self]
    # @raise [ArgumentTypeError, ArgumentValueError] when the payload is not allowed
    def publish(payload)
      open_thread(:publish).publish(Check.payload(payload))
      self
    end

    # Ends the broadcasts.
    # @return [self]
    def silence
      open_thread(:silence).silence
      self
    end

    # Receives from now on the payloads that start with the prefix, in place of an earlier prefix.
    # Before the first call, nothing is received.
    # @param prefix [String] up to 255 bytes; "": everything
    # @return [self]
    # @raise [ArgumentTypeError, ArgumentValueError] when the prefix is not allowed
    def subscribe(prefix = "")
      open_thread(:subscribe).subscribe(Check.prefix(prefix))
      self
    end

    # Receives nothing from now on. {#recv} still returns what was received before.
    # @return [self]
    def unsubscribe
      open_thread(:unsubscribe).subscribe(nil)
      self
    end

    # Waits for the next payload.
    # @param timeout [Integer, Float, nil] seconds; nil: without end
    # @param exception [Boolean] false: nil instead of TimeoutError
    # @return [Array(String, String)] IPv4 address of the sender, payload (binary); nil when time is
    #   up and `exception: false`
    # @raise [TimeoutError] when time is up
    def recv(timeout: nil, exception: true)
      received = take(:recv, timeout)
      return received if received || !exception
      raise build(TimeoutError, :recv, "nothing was heard; subscribe says what is")
    end

    # @param exception [Boolean] false: :wait_readable instead of an error
    # @return [Array(String, String)] the next payload as {#recv}, or :wait_readable when there is
    #   none and `exception: false`
    # @raise [EAGAINWaitReadable] (an IO::WaitReadable) when there is none
    def recv_nonblock(exception: true)
      received = take(:recv_nonblock, 0)
      return received if received
      return :wait_readable unless exception
      raise build(EAGAINWaitReadable, :recv_nonblock, "nothing was heard; recv waits")
    end

    # Yields each payload, until the Beacon is closed.
    # @yieldparam address [String] IPv4 address of the sender
    # @yieldparam payload [String] binary
    # @return [self] or, without a block, an Enumerator
    def each
      return to_enum(:each) unless block_given?
      while (received = take_until_closed)
        yield received
      end
      self
    end

    # Waits until the Beacon has sent this number of broadcasts since it was opened.
    # @param count [Integer, nil] nil: until time is up or the Beacon is closed
    # @param timeout [Integer, Float, nil] seconds; nil: without end
    # @param exception [Boolean] false: nil instead of TimeoutError
    # @return [self] or nil when time is up and `exception: false`
    # @raise [TimeoutError] when time is up
    # @raise [ArgumentTypeError] when the count is no Integer
    def wait_sent(count, timeout: nil, exception: true)
      unless count.nil? || count.is_a?(Integer)
        raise Errors.bad_type(:wait_sent, "the count", "an Integer, or nil", count)
      end
      return self if wait(:wait_sent, timeout) { |thread, time| thread.wait_sent(count, time) }
      return unless exception
      failure = "; the last failure: #{last_error.message}" if last_error
      raise build(TimeoutError, :wait_sent, "#{sent} were broadcast#{failure}")
    end

    # @return [Float, Integer] seconds between two broadcasts
    def interval = own_thread.interval

    # @param seconds [Integer, Float] the interval from now on, 0.001 or more
    # @raise [ArgumentTypeError, ArgumentValueError] when the interval is not allowed
    def interval=(seconds)
      open_thread(:interval=).interval = Check.interval(seconds)
    end

    # @return [Boolean] whether the Beacon ignores received payloads that equal its own; it ignores
    #   a payload until one second after the payload's last broadcast
    def noecho? = own_thread.noecho

    # @param value [Boolean] see {#noecho?}
    def noecho=(value)
      open_thread(:noecho=).noecho = (value ? true : false)
    end

    # @return [String] IPv4 address that the Beacon sends from; "" with `interface: "*"`
    def hostname = own_thread.interface.address
    # @return [String] name of the interface that the Beacon sends by, or "*"
    def interface = own_thread.interface.name
    # @return [Integer] UDP port
    def port = own_thread.port
    # @return [Integer] how many broadcasts were sent
    def sent = own_thread.sent
    # @return [Integer] how many broadcasts failed
    def failed = own_thread.failed
    # @return [SystemCallError, nil] error of the last failed broadcast, such as Errno::ENETUNREACH
    def last_error = own_thread.last_error
    # @return [Integer] how many payloads were dropped, since more than the limit waited for {#recv}
    def dropped = own_thread.dropped

    # Ends the thread and frees the port; waits end with ClosedError. A second call does nothing.
    # @return [nil]
    def close
      own_thread.stop
      @thread.join
      nil
    end

    # @return [Boolean]
    def closed? = own_thread.closed?

    # @return [String]
    def inspect
      state = forked? ? "opened before fork" : ("closed" if closed?)
      "#<#{self.class} #{endpoint}#{" (#{state})" if state}>"
    end
    alias_method :to_s, :inspect

    # @private
    def initialize_copy(_) = raise(Errors.no_copy("beacon", "Beacon.new makes another"))

    # @private
    def forked? = @thread.forked?

    private

    def own_thread(operation = nil)
      raise Errors.build(ForkedError, operation, endpoint) if forked?
      @thread
    end

    def open_thread(operation)
      raise closed(operation) if own_thread(operation).closed?
      @thread
    end

    def take(operation, timeout) = wait(operation, timeout) { |thread, time| thread.take(time) }

    def take_until_closed
      take(:each, nil)
    rescue ClosedError
      nil
    end

    def wait(operation, timeout)
      milliseconds = Timeout.milliseconds(timeout)
      value = yield open_thread(operation), ((milliseconds == -1) ? nil : milliseconds / 1000.0)
      raise closed(operation) if value.nil? && @thread.closed?
      value
    end

    def closed(operation) = build(ClosedError, operation, "Beacon.new makes another")
    def build(klass, operation, detail) = Errors.build(klass, operation, endpoint, detail)
    def endpoint = "udp://#{@thread.interface.name}:#{@thread.port}"
  end
end

require_relative "beacon/check"
require_relative "beacon/interface"
require_relative "beacon/udp_sockets"
require_relative "beacon/beacon_thread"
