# frozen_string_literal: true

module ZMQ
  # Tells others on the network of a service, and hears of theirs: Godwit::Beacon, on CZMQ's wire.
  class Beacon
    Failures = Godwit::Compat::Rbczmq::Failures
    Arguments = Godwit::Compat::Rbczmq::Arguments
    SIZES = (1..255)
    private_constant :Failures, :Arguments, :SIZES

    # @param port [Integer] UDP, the same for all; 0: any free one, for oneself
    def initialize(port)
      Arguments.type(port, Integer)
      @inner = Failures.translated { Beacon.make(port) }
      @pipe = nil
      @destroyed = false
      ObjectSpace.define_finalizer(self, Beacon.finalizer(@inner))
    end

    class << self
      # @private
      # On the first interface that broadcasts; where there is none, on none in particular, as CZMQ.
      def make(port)
        port = free_port if port.zero?
        Godwit::Beacon.new(port, noecho: false)
      rescue Godwit::InterfaceError
        Godwit::Beacon.new(port, noecho: false, interface: "*")
      end

      # @private
      # For 0, which scripts use to try things out.
      def free_port
        socket = UDPSocket.new
        socket.bind("0.0.0.0", 0)
        socket.addr[1]
      ensure
        socket&.close
      end

      # @private
      # What the pipe's thread waits for would else never end.
      def finalizer(inner)
        pid = Process.pid
        proc { inner.close if Process.pid == pid }
      end
    end

    # @return [String] address that it sends from; "" when there is no interface to broadcast on
    def hostname
      told { @inner.hostname }
    end

    # @param milliseconds [Integer] between two broadcasts
    def interval=(milliseconds)
      Arguments.type(milliseconds, Integer)
      raise Error, "an interval is 1 ms or more: got #{milliseconds}" unless milliseconds.positive?
      told { @inner.interval = milliseconds / 1000.0 }
      nil
    end

    # Leaves its own beacons out.
    # @return [nil]
    def noecho
      told { @inner.noecho = true }
      nil
    end

    # Broadcasts now and at each interval.
    # @param payload [String] of 1 to 255 bytes
    # @return [nil]
    def publish(payload)
      Arguments.type(payload, String)
      unless SIZES.cover?(payload.bytesize)
        raise Error, "a beacon has 1 to 255 bytes: got #{payload.bytesize}"
      end
      told { @inner.publish(payload) }
      nil
    end

    # Ends {#publish}.
    # @return [nil]
    def silence
      told { @inner.silence }
      nil
    end

    # Hears the beacons that start with this.
    # @param prefix [String, nil] nil: all
    # @return [nil]
    def subscribe(prefix)
      Arguments.type(prefix, String, NilClass)
      told { @inner.subscribe(prefix || "") }
      nil
    end

    # Hears no more.
    # @return [nil]
    def unsubscribe
      told { @inner.unsubscribe }
      nil
    end

    # Where what it hears comes, two frames each: the sender's address, and the payload. It belongs
    # to the thread that asks first.
    # @return [Socket::Pair] always the same, bound
    def pipe
      told { @pipe ||= Pipe.open(@inner) }
    end

    # Ends all that; a second call does nothing.
    # @return [nil]
    def destroy
      return if @destroyed
      @destroyed = true
      @inner.close
      @pipe&.then { |pipe| Pipe.close(pipe) }
      nil
    end

    # @return [String]
    def inspect = "#<#{self.class}#{" destroyed" if @destroyed}>"

    private

    def told(&block)
      if @destroyed
        raise Error,
          "ZMQ::Beacon instance #{Failures.address(self)} has been destroyed by the ZMQ " \
          "framework"
      end
      Failures.translated(&block)
    end

    # What the pipe has for a context: a socket of no script's, and the thread that feeds it.
    # @private
    class Pipe
      @count = 0
      @lock = Mutex.new

      class << self
        # @return [Socket::Pair]
        def open(beacon)
          endpoint = "inproc://godwit-rbczmq-beacon-#{@lock.synchronize { @count += 1 }}"
          pipe = new
          socket =
            Socket::Pair.__send__(
              :open, pipe, Godwit::Compat::Rbczmq::CompatSocket::CLASSES.fetch(PAIR), Godwit.context
            )
          socket.bind(endpoint)
          pipe.feed(beacon, Godwit::PAIR.new(context: Godwit.context, linger: 0).connect(endpoint))
          socket
        end

        # From any thread.
        def close(socket)
          socket.instance_variable_get(:@context).destroy
          socket.inner.close
        end
      end

      # The block sees no more than the two: the thread must keep neither the Beacon nor its socket.
      def feed(beacon, pair)
        @pair = pair
        @feeder = Thread.new do
          beacon.each { |address, payload| pair.send([address, payload]) }
        rescue Godwit::ClosedError, Godwit::ContextTerminatedError
          nil
        ensure
          pair.close unless pair.__send__(:_forked?)
        end
      end

      # The beacon is closed already.
      def destroy
        @destroyed = true
        @pair.close
        @feeder.join
      end

      # @return [nil] no linger beats the socket's own
      def lingering = nil

      # @return [Boolean] whether the endpoint of a monitor is free
      def acquire(_endpoint, _owner) = true

      # The name of a monitor is free again.
      def release(_endpoint, _owner)
      end

      private

      def destroyed? = !!@destroyed
    end

    private_constant :Pipe
  end
end
