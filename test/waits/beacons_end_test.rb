# frozen_string_literal: true

require "test_helper"
require "conformance/beacons"
require "support/wait_endings"

# Every ending ends a wait on a Godwit::Beacon, and the Beacon can be used afterwards.
class BeaconsEndTest < NetworkCase
  include Conformance::Beacons
  include Godwit::TestSupport::WaitEndings

  Godwit::TestSupport::WaitEndings.test(self, WAITS.keys, WAITS.keys)

  private

  def prepare(name)
    beacon = open_beacon.subscribe
    readers = readers_of(beacon)
    Call.new(name, beacon, beacon, WAITS.fetch(name), ->(_) { readers })
  end
end
