# frozen_string_literal: true

module ZMQ
  # Announces a service on the local network, and receives the announcements of others.
  # Godwit::Beacon does the work.
  class Beacon
    # @param port [Integer] UDP port, the same for all peers; 0: a free port, for tests on one host
    def initialize(port)
      Arguments.type(port, Integer)
      @godwit = Failures.translated { Beacon.make(port) }
      @pipe = nil
      @destroyed = false
      ObjectSpace.define_finalizer(self, Beacon.finalizer(@godwit))
    end

    class << self
      # @private -- and so are the methods below
      # Uses the first interface that can broadcast; if there is none, "*", as CZMQ does.
      def make(port)
        port = free_port if port.zero?
        Godwit::Beacon.new(port, noecho: false)
      rescue Godwit::InterfaceError
        Godwit::Beacon.new(port, noecho: false, interface: "*")
      end

      # Closes the Godwit::Beacon of a collected beacon, which also ends the thread of {#pipe}.
      def finalizer(godwit)
        pid = Process.pid
        proc { godwit.close if Process.pid == pid }
      end

      private

      def free_port
        socket = UDPSocket.new
        socket.bind("0.0.0.0", 0)
        socket.addr[1]
      ensure
        socket&.close
      end
    end

    # @return [String] the address that the beacon sends from; "" if no interface can broadcast
    def hostname = with_error_translation { @godwit.hostname }

    def interval=(milliseconds)
      Arguments.type(milliseconds, Integer)
      with_error_translation { @godwit.interval = milliseconds / 1000.0 }
      nil
    end

    # From now on the beacon does not receive its own broadcasts.
    def noecho
      with_error_translation { @godwit.noecho = true }
      nil
    end

    # Broadcasts now and at each interval.
    # @param payload [String] 1 to 255 bytes
    def publish(payload) = call(:publish, payload)
    # Ends {#publish}.
    def silence = call(:silence)
    # Receives the payloads that start with the prefix.
    # @param prefix [String, nil] nil: all payloads
    def subscribe(prefix) = call(:subscribe, prefix.nil? ? "" : prefix)
    def unsubscribe = call(:unsubscribe)
    # A socket that receives two frames for each broadcast: the sender's address and the payload.
    # Only the thread that calls `pipe` first may use the socket.
    def pipe = with_error_translation { (@pipe ||= Pipe.new(@godwit)).socket }

    # Closes the beacon and its pipe. A second call does nothing.
    def destroy
      return if @destroyed
      @destroyed = true
      @godwit.close
      @pipe&.destroy
      nil
    end

    def inspect = "#<#{self.class}#{" destroyed" if @destroyed}>"

    private

    def call(name, *arguments)
      with_error_translation { @godwit.public_send(name, *arguments) }
      nil
    end

    def with_error_translation(&block)
      raise Failures.destroyed(Beacon, self) if @destroyed
      Failures.translated(&block)
    end

    # A thread copies what the beacon receives into a PAIR, in a context that scripts cannot reach.
    class Pipe
      ENDPOINT = "inproc://beacon"

      # The thread refers neither to the Beacon nor to its socket, so that both can be collected.
      def self.forward(beacon, pair)
        Thread.new do
          beacon.each { |address, payload| pair.send([address, payload]) }
        rescue Godwit::ClosedError, Godwit::ContextTerminatedError
          nil
        ensure
          pair.close unless pair.forked?
        end
      end

      attr_reader :socket

      def initialize(beacon)
        @context = Context.allocate
        @context._open(nil)
        @socket = @context.socket(:PAIR)
        @socket.bind(ENDPOINT)
        pair = Godwit::PAIR.new(context: @socket.godwit.context, linger: 0).connect(ENDPOINT)
        @forwarder = Pipe.forward(beacon, pair)
      end

      # Closes the pipe. Any thread may call this method, once the beacon is closed.
      def destroy
        @context.destroy
        @forwarder.join
      end
    end

    private_constant :Pipe
  end
end
