# frozen_string_literal: true

require "test_helper"
require_relative "beacons"

# The interface that a Godwit::Beacon chooses, its addresses, and the loss of the network.
class BeaconInterfacesTest < NetworkCase
  include Conformance::Beacons

  test "where it sends from" do
    [nil, "gw0", HERE].each do |wanted|
      beacon = open_beacon(interface: wanted)
      assert_equal [HERE, "gw0", port], [beacon.hostname, beacon.interface, beacon.port]
      assert_equal "#<Godwit::Beacon udp://gw0:#{port}>", beacon.inspect
    end
    anywhere = open_beacon(interface: "*")
    assert_equal ["", "*"], [anywhere.hostname, anywhere.interface]
  end

  test "a beacon sends from the chosen address, to its network's broadcast address" do
    Network.run("ip", "addr", "add", "10.77.0.50/24", "brd", "+", "dev", "gw0")
    receiver = open_beacon.subscribe
    directed = UDPSocket.new
    %i[REUSEADDR REUSEPORT].each { |name| directed.setsockopt(:SOCKET, name, true) }
    directed.bind("10.77.0.255", port) # gets nothing that is sent to 255.255.255.255
    ["10.77.0.50", HERE].each do |address|
      beacon = open_beacon(interface: address, interval: 3600).publish(address)
      assert_equal [address, address], receiver.recv(timeout: 10)
      assert_equal address, beacon.hostname
      assert directed.wait_readable(10)
      assert_equal address, directed.recv(100)
    end
  ensure
    directed&.close
    Network.run("ip", "addr", "del", "10.77.0.50/24", "dev", "gw0")
  end

  test "ZSYS_INTERFACE decides where none is given" do
    before = ENV.fetch("ZSYS_INTERFACE", nil)
    ENV["ZSYS_INTERFACE"] = "*"
    assert_equal "*", open_beacon.interface
    assert_equal "gw0", open_beacon(interface: "gw0").interface
    ENV["ZSYS_INTERFACE"] = ""
    assert_equal "gw0", open_beacon.interface
    ENV["ZSYS_INTERFACE"] = "nosuch0"
    assert_raises(Godwit::InterfaceError) { open_beacon }
  ensure
    ENV["ZSYS_INTERFACE"] = before
  end

  test "an interface that is absent or cannot broadcast is refused, and the error lists usable " \
    "interfaces" do
    ["nosuch0", "lo", "127.0.0.1", "10.9.9.9", "gw1"].each do |wanted|
      error = assert_raises(Godwit::InterfaceError) { open_beacon(interface: wanted) }
      assert_kind_of Errno::ENODEV, error
      assert_includes error.message,
        "no interface #{wanted.inspect} can broadcast; here: gw0 (#{HERE})"
    end
  end

  test "a port that a program does not share" do
    UDPSocket.open do |socket|
      socket.bind("0.0.0.0", port)
      error = assert_raises(Godwit::AddressInUseError) { open_beacon }
      assert_includes error.message, "take another port"
      assert_includes error.message, ":#{port}"
    end
  end

  test "without a route a beacon counts the failures and keeps publishing" do
    beacon = open_beacon(interface: "*", interval: 0.01).publish("x")
    eventually { beacon.failed > 2 }
    assert_kind_of Errno::ENETUNREACH, beacon.last_error
    assert_equal 0, beacon.sent
    assert_includes assert_raises(Godwit::TimeoutError) {
                      beacon.wait_sent(1, timeout: 0.01)
                    }.message,
      "unreachable"
    Network.run("ip", "route", "add", "default", "dev", "gw0")
    receivers = [nil, "*"].map { |interface| open_beacon(interface: interface).subscribe }
    beacon.wait_sent(1, timeout: 10)
    receivers.each { |receiver| assert_equal "x", receiver.recv(timeout: 10).last }
  ensure
    Network.run("ip", "route", "flush", "default")
  end

  test "an interface that disappears and returns with another address" do
    beacon = open_beacon(interval: 0.01).publish("x")
    beacon.wait_sent(1, timeout: 10)
    Network.run("ip", "addr", "flush", "dev", "gw0")
    failed = beacon.failed
    eventually { beacon.failed > failed + 2 }
    Network.run("ip", "addr", "add", "10.78.0.9/24", "brd", "+", "dev", "gw0")
    eventually { beacon.hostname == "10.78.0.9" }
    assert_equal ["10.78.0.9", "x"], open_beacon.subscribe.recv(timeout: 10)
  ensure
    Network.run("ip", "addr", "flush", "dev", "gw0")
    Network.run("ip", "addr", "add", "#{HERE}/24", "brd", "+", "dev", "gw0")
  end
end
