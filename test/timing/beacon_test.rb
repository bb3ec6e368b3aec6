# frozen_string_literal: true

require "test_helper"
require "conformance/beacons"
require "support/timed"

# How soon waits on a Godwit::Beacon end, and how soon it applies its settings.
class BeaconTimingTest < NetworkCase
  include Conformance::Beacons
  include Godwit::TestSupport::Timed

  WAITS.each do |name, call|
    test "endings of #{name} end it at once" do
      assert_ends_at_once do
        beacon = open_beacon
        readers = readers_of(beacon)
        Wait.new(
          -> { call.call(beacon) }, -> { until_waiting(readers) }, {"close" => -> { beacon.close }}
        )
      end
    end
  end

  test "it publishes at once, and holds a new interval at once" do
    took = median do
      beacon = open_beacon(interval: 1000)
      seconds do
        beacon.publish("x").wait_sent(1) && (beacon.interval = 0.01) && beacon.wait_sent(2)
      end.tap { beacon.close }
    end
    assert_operator took, :<, PROMISED
  end
end
