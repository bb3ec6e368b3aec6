# frozen_string_literal: true

require "test_helper"
require "support/network"
require_relative "czmq"

# In both directions with CZMQ's zbeacon: its program runs in another network namespace, joined to
# this one by a wire that exists for this test only.
class InteropBeaconTest < NetworkCase
  Czmq = Godwit::TestSupport::Czmq
  HERE = Network::HERE
  THERE = Network::THERE
  PATIENCE = 20

  @port = 9300
  class << self
    def next_port = @port += 1
  end

  def setup
    skip Czmq.missing if Czmq.missing
  end

  def teardown
    (@beacons || []).each(&:close)
    super
  end

  def port = @port ||= InteropBeaconTest.next_port

  def open_beacon(**options)
    Godwit::Beacon.new(port, **options).tap { |beacon| (@beacons ||= []) << beacon }
  end

  # A CZMQ program with a zbeacon.
  def zbeacon(payload: "", interval: 20, prefix: "", on: :there, interface: nil)
    command = [
      Czmq.program("czmq_beacon"), port.to_s, Czmq.hex(payload), interval.to_s,
      Czmq.hex(prefix)
    ]
    env = {"ZSYS_INTERFACE" => interface}
    Network.other_machine
    child =
      (on == :there) ?
        there(*command, deadline: 60, env: env) : start_command(command, deadline: 60, env: env)
    child.wait_for(/^host .*\n/)
  end

  def received(address, payload) = /^received #{address} #{Czmq.hex(payload).upcase}\n/

  def end_well(child)
    result = assert_child(child.finish)
    assert_empty result.stderr
    result.stdout
  end

  test "zbeacon and Godwit receive each other's beacons, of one byte and of 255 too" do
    bytes = Random.new(1).bytes(254)
    [["ours \0\xff", "theirs \0\xfe"], %w[! ?], ["!#{bytes}", "?#{bytes}"]].each do |ours, theirs|
      beacon = open_beacon(interval: 0.02).subscribe.publish(ours)
      child = zbeacon(payload: theirs)
      assert_includes child.stdout, "host #{THERE}\n"
      assert_equal [THERE, theirs.b], beacon.recv(timeout: PATIENCE)
      child.wait_for(received(HERE, ours))
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
    child.stdin.puts "publish #{Czmq.hex("b1")}"
    assert_equal [THERE, "b1"], beacon.recv(timeout: PATIENCE)
    refute_match(received(HERE, "x1"), end_well(child))
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
