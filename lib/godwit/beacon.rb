# frozen_string_literal: true

require "socket"
require_relative "../godwit"

module Godwit
  # Discovery on a local network: broadcasts a short payload over UDP, again and again, and hears
  # those of others. On the wire it is CZMQ's zbeacon (IPv4, the payload alone in each datagram).
  #
  #   Godwit::Beacon.new(9999) do |beacon|
  #     beacon.publish("work 5555")            # at once, then every second
  #     beacon.subscribe("work ")
  #     address, payload = beacon.recv(timeout: 5)
  #   end
  #
  # A thread of its own sends and hears, on the monotonic clock, whether anybody receives or not.
  #
  # **Threads, fibers, signals**: any may call any method; each beacon that is heard goes to one
  # caller of {#recv}. Waits end within 0.1 s on `Thread#kill`, `Thread#raise`, `Timeout`, signals
  # and {#close}; under a `Fiber.scheduler` other fibers run meanwhile. In a `trap` block only
  # {#close} and {#closed?} work. **Fork**: in a child every method raises {ForkedError}, and the
  # parent's goes on. **Garbage collector**: one that is dropped is closed. **Ractors**: it belongs
  # to the one that made it.
  #
  # @see https://rfc.zeromq.org/spec/20/ ZRE, which puts its own payload into such beacons
  # @see http://czmq.zeromq.org/manual:zbeacon zbeacon(3)
  class Beacon
    extend Keywords
    include Enumerable

    # Bytes that a payload may have.
    MOST_BYTES = 255
    # Beacons that are kept for a reader who is late, where nothing else is said.
    LIMIT = 1000
    # Seconds between two broadcasts, at least.
    SHORTEST = 0.001

    class << self
      undef_method :allocate # without initialize it is nothing

      # Opens one. With a block: yields it, closes it afterwards, and gives the block's value.
      # @return [Beacon] or the block's value
      # @see #initialize
      def new(...)
        beacon = super
        return beacon unless block_given?
        begin
          yield beacon
        ensure
          # A child that ends within the block leaves it to its parent.
          beacon.close unless beacon.__send__(:forked?)
        end
      end

      private

      # Away from the Beacon, which the finalizer must not hold.
      def finalizer(beacon_thread) = proc { beacon_thread.stop }
    end

    # @param port [Integer] UDP port, 1 to 65535, the same for all that are to hear each other;
    #   others on this machine may have it too
    # @param interface [String, nil] name, IPv4 address, or "*": 255.255.255.255 by the default
    #   route. nil: what the environment's ZSYS_INTERFACE says, else the first that can broadcast
    # @param interval [Integer, Float] seconds between two broadcasts, 0.001 or more
    # @param noecho [Boolean] whether what equals the own payload is not heard
    # @param limit [Integer] most beacons that are kept for a reader who is late, 1 or more; the
    #   oldest are dropped
    # @raise [ArgumentTypeError, ArgumentValueError] when one of them is not allowed
    # @raise [InterfaceError] when there is no such interface, or none that can broadcast
    # @raise [AddressInUseError] when a program holds the port and does not share it
    # @raise [AccessError, TooManySocketsError]
    def initialize(port, interface: nil, interval: 1.0, noecho: true, limit: LIMIT)
      if @thread
        raise Errors.build(StateError, :beacon, nil, "it is open already; Beacon.new makes another")
      end
      Check.port(port)
      Check.interface(interface)
      Check.limit(limit)
      wanted = interface || ENV["ZSYS_INTERFACE"]
      @thread =
        BeaconThread.new(
          port, (wanted unless wanted.to_s.empty?), interval: Check.interval(interval),
          noecho: noecho ? true : false, limit: limit
        )
      ObjectSpace.define_finalizer(self, self.class.__send__(:finalizer, @thread))
    end

    # Broadcasts it at once, then at each interval, until {#silence}, {#close} or another call,
    # which replaces it. What the network does not take is counted ({#failed}) and tried again at
    # the next interval.
    # @param payload [String] 1 to 255 bytes; they go as they are, whatever their encoding
    # @return [self]
    # @raise [ArgumentTypeError, ArgumentValueError] when the payload is not allowed
    # @raise [ClosedError, ForkedError]
    def publish(payload)
      beacon_thread(:publish).publish(Check.payload(payload))
      self
    end

    # Broadcasts no more.
    # @return [self]
    # @raise [ClosedError, ForkedError]
    def silence
      beacon_thread(:silence).silence
      self
    end

    # Hears from now on what starts with the prefix, instead of what it heard before. Nothing is
    # heard before the first call.
    # @param prefix [String] up to 255 bytes; "": everything
    # @return [self]
    # @raise [ArgumentTypeError, ArgumentValueError] when the prefix is not allowed
    # @raise [ClosedError, ForkedError]
    def subscribe(prefix = "")
      beacon_thread(:subscribe).subscribe(Check.prefix(prefix))
      self
    end

    # Hears nothing more; what was heard can still be received.
    # @return [self]
    # @raise [ClosedError, ForkedError]
    def unsubscribe
      beacon_thread(:unsubscribe).subscribe(nil)
      self
    end

    # The next beacon; waits for one.
    # @param timeout [Integer, Float, nil] seconds; nil: for ever
    # @param exception [Boolean] false: nil instead of TimeoutError
    # @return [Array(String, String)] IPv4 address of the sender, payload (binary); nil when time is
    #   up and `exception: false`
    # @raise [TimeoutError] when time is up
    # @raise [ClosedError, ForkedError]
    def recv(timeout: nil, exception: true)
      take(:recv, timeout) ||
        (raise late(:recv, "nothing was heard; subscribe says what is") if exception)
    end

    # The next beacon, if there is one.
    # @param exception [Boolean] false: :wait_readable instead of an error
    # @return [Array(String, String)] as {#recv}, or :wait_readable when there is none and
    #   `exception: false`
    # @raise [EAGAINWaitReadable] (an IO::WaitReadable) when there is none
    # @raise [ClosedError, ForkedError]
    def recv_nonblock(exception: true)
      take(:recv_nonblock, 0) || begin
        return :wait_readable unless exception
        raise Errors.build(
          EAGAINWaitReadable, :recv_nonblock, place, "nothing was heard; recv waits"
        )
      end
    end

    # Yields each beacon, until it is closed.
    # @yieldparam address [String] IPv4 address of the sender
    # @yieldparam payload [String] binary
    # @return [self] or, without a block, an Enumerator
    # @raise [ForkedError]
    def each
      return to_enum(:each) unless block_given?
      while (heard = take_or_end)
        yield heard
      end
      self
    end

    # Waits until so many were broadcast, since it was opened.
    # @param count [Integer, nil] nil: for ever
    # @param timeout [Integer, Float, nil] seconds; nil: for ever
    # @param exception [Boolean] false: nil instead of TimeoutError
    # @return [self] or nil when time is up and `exception: false`
    # @raise [TimeoutError] when time is up
    # @raise [ArgumentTypeError] when the count is no Integer
    # @raise [ClosedError, ForkedError]
    def wait_sent(count, timeout: nil, exception: true)
      unless count.nil? || count.is_a?(Integer)
        raise Errors.bad_type(:wait_sent, "the count", "an Integer, or nil", count)
      end
      if wait(:wait_sent, timeout) { |beacon_thread, seconds|
           beacon_thread.wait_sent(count, seconds)
         }
        return self
      end
      if exception
        raise late(
          :wait_sent,
          "#{sent} were broadcast#{"; the last failure: #{last_error.message}" if last_error}"
        )
      end
    end

    # @return [Float, Integer] seconds between two broadcasts
    # @raise [ForkedError]
    def interval = own.interval

    # @param seconds [Integer, Float] 0.001 or more; holds at once
    # @raise [ArgumentTypeError, ArgumentValueError] when they are not allowed
    # @raise [ClosedError, ForkedError]
    def interval=(seconds)
      beacon_thread(:interval=).interval = Check.interval(seconds)
    end

    # @return [Boolean] whether what equals the own payload is not heard; for a second longer than
    #   it is published
    # @raise [ForkedError]
    def noecho? = own.noecho

    # @param value [Boolean] see {#noecho?}
    # @raise [ClosedError, ForkedError]
    def noecho=(value)
      beacon_thread(:noecho=).noecho = (value ? true : false)
    end

    # @return [String] IPv4 address that it sends from; "" with `interface: "*"`
    # @raise [ForkedError]
    def hostname = own.interface.address

    # @return [String] name of the interface that it sends by, or "*"
    # @raise [ForkedError]
    def interface = own.interface.name

    # @return [Integer] UDP port
    # @raise [ForkedError]
    def port = own.port

    # @return [Integer] how many were broadcast
    # @raise [ForkedError]
    def sent = own.sent

    # @return [Integer] how many could not be
    # @raise [ForkedError]
    def failed = own.failed

    # @return [SystemCallError, nil] why the last of these could not be, such as Errno::ENETUNREACH
    # @raise [ForkedError]
    def last_error = own.last_error

    # @return [Integer] how many were heard and dropped, since nobody received them in time
    # @raise [ForkedError]
    def dropped = own.dropped

    # Ends its thread and frees the port; waits end with ClosedError. A second call does nothing.
    # @return [nil]
    # @raise [ForkedError]
    def close
      own.stop
      @thread.join
      nil
    end

    # @return [Boolean]
    # @raise [ForkedError]
    def closed? = own.closed?

    # @return [String]
    def inspect
      state = forked? ? "opened before fork" : ("closed" if closed?)
      "#<#{self.class} #{place}#{" (#{state})" if state}>"
    end
    alias_method :to_s, :inspect

    # dup and clone make no sense.
    # @private
    def initialize_copy(_original)
      raise Errors.build(
        UnsupportedError, :dup, nil, "a beacon cannot be copied: Beacon.new makes another"
      )
    end
  end
end

require_relative "beacon/check"
require_relative "beacon/interface"
require_relative "beacon/udp_sockets"
require_relative "beacon/beacon_thread"
require_relative "beacon/calls"
