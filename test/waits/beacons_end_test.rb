# frozen_string_literal: true

require "test_helper"
require "conformance/beacons"
require "support/wait_endings"

# Every ending ends a wait on a Godwit::Beacon, and the Beacon can be used afterwards.
class BeaconsEndTest < NetworkCase
  include Conformance::Beacons
  include Godwit::TestSupport::WaitEndings

  BEACONS = {
    "Beacon recv" => ->(beacon) { beacon.recv },
    "Beacon each" => ->(beacon) { beacon.each { |_, payload| raise payload } },
    "Beacon wait_sent" => ->(beacon) { beacon.wait_sent(1) }
  }.freeze

  Godwit::TestSupport::WaitEndings.test(self, BEACONS.keys, BEACONS.keys)

  private

  def prepare(name)
    beacon = open_beacon.subscribe
    readers = readers_of(beacon)
    Call.new(name, beacon, beacon, BEACONS.fetch(name), ->(_) { readers })
  end
end
