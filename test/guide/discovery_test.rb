# frozen_string_literal: true

require_relative "guide_case"
require "support/network"

# examples/guide/discovery, in a network that exists for the test only.
class GuideDiscoveryTest < NetworkCase
  include GuidePrograms

  test "a client finds a service on another machine, and another service when the first is " \
    "killed" do
    far = there(RbConfig.ruby, "-Ilib", "examples/guide/discovery/service.rb", "9701", "far",
      deadline: PATIENCE)
    assert_match %r{\Atcp://#{Network::THERE}:\d+\z}o, endpoints(far).first
    client = example("discovery/client", 9701, 1_000_000).wait_for("says far")
    near = example("discovery/service", 9701, "near")
    assert_match %r{\Atcp://#{Network::HERE}:\d+\z}o, endpoints(near).first
    crash far
    client.wait_for("says near")

    said = interrupt(client)
    assert_equal "found #{endpoints(far).first}", said.first
    assert_includes said, "found #{endpoints(near).first}"
    assert_squares(said.grep(/squared/))
    interrupt(near)
  end
end
