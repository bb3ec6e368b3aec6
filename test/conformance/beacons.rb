# frozen_string_literal: true

require "socket"
require "support/network"

module Conformance
  # Opens beacons, which the end of the test closes. Each test has its own port.
  module Beacons
    HERE = NetworkCase::Network::HERE

    # The Beacon's methods that wait, by the name that the tests print.
    WAITS = {
      "Beacon recv" => ->(beacon) { beacon.recv },
      "Beacon each" => ->(beacon) { beacon.each { |_, payload| raise payload } },
      "Beacon wait_sent" => ->(beacon) { beacon.wait_sent(1) }
    }.freeze

    @port = 9000
    class << self
      def next_port = @port += 1
    end

    def port = @port ||= Beacons.next_port

    def open_beacon(port = self.port, **options)
      Godwit::Beacon.new(port, **options).tap { |beacon| (@beacons ||= []) << beacon }
    end

    def teardown
      @beacons&.each(&:close)
      super
    end

    # The beacon's queue of received beacons.
    def received_beacons(beacon)
      beacon.instance_variable_get(:@thread).instance_variable_get(:@queue)
    end

    # The condition variable that a beacon's readers wait on, for until_waiting.
    def readers_of(beacon) = count_waiters(beacon.instance_variable_get(:@thread), :@changed)

    # @return [Thread::Queue] gets an entry after the beacon's thread has processed a datagram
    def dealt_with(beacon)
      Thread::Queue.new.tap do |queue|
        beacon.instance_variable_get(:@thread)
          .define_singleton_method(:keep) { |*datagram| super(*datagram).then { queue << true } }
      end
    end

    # Broadcasts raw payloads from this machine.
    def shout(*payloads, to: "10.77.0.255")
      UDPSocket.open do |socket|
        socket.setsockopt(:SOCKET, :BROADCAST, true)
        payloads.each { |payload| socket.send(payload, 0, to, port) }
      end
    end
  end
end
