# frozen_string_literal: true

require "test_helper"
require "support/network"
require_relative "czmq_peer"

# In both directions with CZMQ's zbeacon: its program runs in another network namespace, joined to
# this one by a wire that exists for this test only.
class InteropBeaconTest < NetworkCase
  HERE = Network::HERE
  THERE = Network::THERE
  PATIENCE = 20

  @port = 9300
  class << self
    def next_port = @port += 1
  end

  def setup
    missing = Godwit::TestSupport::CzmqPeer.missing
    skip missing if missing
  end

  def teardown
    (@beacons || []).each(&:close)
    super
  end

  def port = @port ||= InteropBeaconTest.next_port

  def open_beacon(**options)
    Godwit::Beacon.new(port, **options).tap { |beacon| (@beacons ||= []) << beacon }
  end

  def hex(bytes) = bytes.empty? ? "-" : bytes.unpack1("H*")

  # A CZMQ program with a zbeacon.
  def zbeacon(payload: "", interval: 20, prefix: "", on: :there, interface: nil)
    command = [
      Godwit::TestSupport::CzmqPeer.program("czmq_beacon"), port.to_s, hex(payload), interval.to_s,
      hex(prefix)
    ]
    env = {"ZSYS_INTERFACE" => interface}
    Network.other_machine
    child =
      (
        if on == :there
          there(*command, deadline: 60, env: env)
        else
          start_command(command, deadline: 60, env: env)
        end
      )
    child.wait_for(/^host .*\n/)
  end

  def received(address, payload) = /^received #{address} #{hex(payload).upcase}\n/

  def end_well(child)
    result = assert_child(child.finish)
    assert_empty result.stderr
    result.stdout
  end

  test "zbeacon and Godwit receive each other's beacons" do
    beacon = open_beacon(interval: 0.02).subscribe.publish("ours \0\xff")
    child = zbeacon(payload: "theirs \0\xfe")
    assert_includes child.stdout, "host #{THERE}\n"
    assert_equal [THERE, "theirs \0\xfe".b], beacon.recv(timeout: PATIENCE)
    child.wait_for(received(HERE, "ours \0\xff"))
    end_well(child)
  end

  test "payloads of one byte and of 255 pass, in both directions" do
    ["!", Random.new(1).bytes(255)].each do |payload|
      beacon = open_beacon(interval: 0.02, noecho: false).subscribe
      child = zbeacon(payload: payload)
      assert_equal payload,
        eventually {
          beacon
            .recv(timeout: PATIENCE)
            .then { |address, data| data if address == THERE }
        }
      child.stdin.puts "silence" # while our beacon publishes the same payload, zbeacon filters it
      child.wait_for("did silence")
      beacon.publish(payload)
      child.wait_for(received(HERE, payload))
      end_well(child)
      beacon.close
    end
  end

  test "each side's prefix chooses" do
    beacon = open_beacon(interval: 0.01).subscribe("b")
    child = zbeacon(payload: "a1", prefix: "y")
    beacon.publish("x1").wait_sent(5, timeout: PATIENCE)
    assert_nil beacon.recv(timeout: 0.1, exception: false)
    beacon.publish("y1")
    child.wait_for(received(HERE, "y1"))
    child.stdin.puts "publish #{hex("b1")}"
    assert_equal [THERE, "b1"], beacon.recv(timeout: PATIENCE)
    refute_match(received(HERE, "x1"), end_well(child))
  end

  test "after either side's silence, the other receives no more beacons" do
    beacon = open_beacon(interval: 0.01).publish("ours")
    child = zbeacon(payload: "theirs", interval: 10)
    child.wait_for(received(HERE, "ours"))
    beacon.silence
    sent = beacon.sent
    child.stdin.puts "silence"
    child.wait_for("did silence")
    beacon.publish("last") # comes after all beacons in transit
    child.wait_for(received(HERE, "last"))
    assert_operator end_well(child).scan(received(HERE, "ours")).size, :<=, sent
    beacon.subscribe
    assert_nil beacon.recv(timeout: 0.1, exception: false)
  end

  test "noecho as in zbeacon: a payload equal to the beacon's is dropped, from any sender" do
    beacon = open_beacon(interval: 0.01).subscribe.publish("same")
    child = zbeacon(payload: "same", interval: 10)
    beacon.wait_sent(beacon.sent + 10, timeout: PATIENCE)
    assert_nil beacon.recv(timeout: 0.1, exception: false)
    refute_match(/^received/, child.stdout)
    beacon.noecho = false
    assert_equal "same", beacon.recv(timeout: PATIENCE).last
    refute_match(/^received/, end_well(child))
  end

  test "both on one machine share the port" do
    beacon = open_beacon(interval: 0.02).subscribe.publish("ours")
    child = zbeacon(payload: "theirs", on: :here)
    assert_includes child.stdout, "host #{HERE}\n"
    assert_equal [HERE, "theirs"], beacon.recv(timeout: PATIENCE)
    child.wait_for(received(HERE, "ours"))
    late = open_beacon.subscribe
    eventually { late.recv(timeout: PATIENCE) == [HERE, "theirs"] }
    end_well(child)
  end

  test "a zbeacon that sends to 255.255.255.255 and ours receive each other" do
    Network.other_machine
    Network.run("ip", "route", "add", "default", "dev", "gw0")
    Network.run(
      *Network.there(Network.other_machine, "ip", "route", "add", "default", "dev", "gw1")
    )
    beacon = open_beacon(interface: "*", interval: 0.02).subscribe.publish("ours")
    child = zbeacon(payload: "theirs", interface: "*")
    assert_equal "theirs", beacon.recv(timeout: PATIENCE).last
    child.wait_for(received(HERE, "ours"))
    end_well(child)
  ensure
    Network.run("ip", "route", "flush", "default")
    Network.run(*Network.there(Network.other_machine, "ip", "route", "flush", "default"))
  end
end
