# frozen_string_literal: true

require "test_helper"
require "conformance/beacons"
require_relative "czmq"

# Beacons to and from CZMQ's zbeacon. A program of CZMQ runs in another network namespace, which a
# virtual network connects to the test's own.
class InteropBeaconTest < NetworkCase
  include Conformance::Beacons

  Czmq = Godwit::TestSupport::Czmq
  THERE = Network::THERE
  PATIENCE = 20

  def setup
    skip Czmq.missing if Czmq.missing
  end

  # Starts the program of CZMQ with a zbeacon, in the other namespace or in this one.
  def zbeacon(payload:, on: :there)
    command = [Czmq.program, "beacon", port.to_s, Czmq.hex(payload)]
    options = {deadline: 60, env: {"ZSYS_INTERFACE" => nil}}
    child = (on == :there) ? there(*command, **options) : start_command(command, **options)
    child.wait_for(/^host .*\n/)
  end

  def received(address, payload) = /^received #{address} #{Czmq.hex(payload).upcase} \n/

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
end
