# frozen_string_literal: true

# libzmq: test_client_server, test_radio_dish, test_dgram, test_peer, test_channel
# libzmq: test_scatter_gather, test_thread_safe, test_hello_msg, test_disconnect_msg
# libzmq: test_router_notify

require_relative "case"

# Tests of the draft socket types: they work on a libzmq with drafts, and raise on one without.
# bin/test runs this file on both.
class DraftTest < Conformance::Case
  TYPES = %i[CLIENT SERVER RADIO DISH SCATTER GATHER PEER CHANNEL DGRAM].freeze

  test "the stage for drafts has a libzmq with drafts" do
    assert_equal true, Godwit.has?(:draft) if ENV["GODWIT_TEST_DRAFT"]
    assert_includes [true, false], Godwit.has?(:draft)
  end

  # On a libzmq without drafts, Godwit refuses each draft type.
  module Without
    TYPES.each do |type|
      define_method("test_#{type}_needs_a_libzmq_with_drafts,_and_says_so") do
        klass = Godwit.const_get(type)
        says = /#{type} is a draft type.*ENABLE_DRAFTS.*rake draft/
        [-> { klass.new(context: context) }, -> { klass.bind("tcp://*:*", context: context) },
          -> { context.socket(type) }].each do |call|
          assert_kind_of Errno::EOPNOTSUPP, assert_named(Godwit::UnsupportedError, says, &call)
        end
      end
    end

    def test_a_DISH_with_groups_raises_too
      assert_named(Godwit::UnsupportedError, /DISH is a draft type/) do
        Godwit::DISH.new(context: context, join: "a")
      end
    end
  end

  if Godwit.has?(:draft)
    require_relative "draft_scenarios"
    require_relative "draft_waits"
    include DraftScenarios
    include DraftWaits
  else
    include Without
  end
end
