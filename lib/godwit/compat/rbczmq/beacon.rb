# frozen_string_literal: true

module ZMQ
  # Announces a service on the local network, and receives the announcements of others.
  # Godwit::Beacon does the work.
  class Beacon
    # @param port [Integer] UDP port, the same for all peers; 0: any free one, for tests on one host
    def initialize(port)
      Arguments.type(port, Integer)
      @godwit = Failures.translated { Beacon.make(port) }
      @pipe = nil
      @destroyed = false
      ObjectSpace.define_finalizer(self, Beacon.finalizer(@godwit))
    end

    class << self
      # @private -- and so are the methods below
      # Takes the first interface that broadcasts; where there is none, "*", as CZMQ does.
      def make(port)
        port = free_port if port.zero?
        Godwit::Beacon.new(port, noecho: false)
      rescue Godwit::InterfaceError
        Godwit::Beacon.new(port, noecho: false, interface: "*")
      end

      # The pipe's thread waits until the beacon is closed.
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

    # @return [String] the address that it sends from; "" when no interface can broadcast
    def hostname = with_error_translation { @godwit.hostname }

    def interval=(milliseconds)
      Arguments.type(milliseconds, Integer)
      with_error_translation { @godwit.interval = milliseconds / 1000.0 }
      nil
    end

    # Excludes the beacon's own broadcasts from now on.
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
    # @param prefix [String, nil] nil: all
    def subscribe(prefix) = call(:subscribe, prefix.nil? ? "" : prefix)
    def unsubscribe = call(:unsubscribe)
    # Receives two frames for each broadcast: the sender's address and the payload. The pipe belongs
    # to the thread of the first call.
    def pipe = with_error_translation { (@pipe ||= Pipe.new(@godwit)).socket }

    # Ends the beacon and its pipe. A second call does nothing.
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

    # A thread copies what the beacon receives into a PAIR socket. For that socket, which belongs to
    # no script's context, the pipe stands in as the context.
    class Pipe
      @count = 0
      @lock = Mutex.new

      class << self
        def endpoint = "inproc://godwit-rbczmq-beacon-#{@lock.synchronize { @count += 1 }}"

        # The thread must keep neither the Beacon nor its socket, so this method sees neither.
        def forward(beacon, pair)
          Thread.new do
            beacon.each { |address, payload| pair.send([address, payload]) }
          rescue Godwit::ClosedError, Godwit::ContextTerminatedError
            nil
          ensure
            pair.close unless pair.forked?
          end
        end
      end

      attr_reader :socket

      def initialize(beacon)
        @destroyed = false
        endpoint = Pipe.endpoint
        @socket = Socket::Pair.open(self, Godwit.context)
        @socket.bind(endpoint)
        @pair = Godwit::PAIR.new(context: Godwit.context, linger: 0).connect(endpoint)
        @forwarder = Pipe.forward(beacon, @pair)
      end

      # Ends the pipe. Any thread may call this method, once the beacon is closed.
      def destroy
        @destroyed = true
        @pair.close
        @forwarder.join
        @socket.godwit.close
      end

      # The sockets of a context call this method and the next ones. No linger overrides the
      # socket's.
      def lingering = nil
      def destroyed? = @destroyed
      def reserve_monitor(_endpoint, _owner) = true

      def release_monitor(_endpoint, _owner)
      end
    end

    private_constant :Pipe
  end
end
