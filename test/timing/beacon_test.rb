# frozen_string_literal: true

require "test_helper"
require "conformance/beacons"

# How soon a wait for a beacon ends.
class BeaconTimingTest < NetworkCase
  include Conformance::Beacons

  {"Thread#kill" => ->(_, thread) { thread.kill }, "Thread#raise" => ->(_, thread) { thread.raise(IndexError) },
   "close" => ->(beacon, _) { beacon.close }}.each do |how, ending|
    test "#{how} ends recv at once" do
      beacon = open_beacon
      readers = readers_of(beacon)
      thread = in_thread { beacon.recv }
      until_waiting(readers)
      took = seconds do
        ending.call(beacon, thread)
        thread.join(HANG)
      rescue IndexError, Godwit::ClosedError
        nil
      end
      assert_operator took, :<, 0.1
    end
  end
end
