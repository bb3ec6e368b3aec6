# frozen_string_literal: true

# libzmq: test_client_server, test_radio_dish, test_dgram, test_peer, test_channel
# libzmq: test_scatter_gather, test_thread_safe, test_hello_msg, test_disconnect_msg
# libzmq: test_router_notify

require_relative "case"

# On a libzmq without drafts Godwit refuses each draft type. On a libzmq with drafts the types work.
# bin/test runs this file on both.
class DraftTest < Conformance::Case
  test "the stage for drafts has a libzmq with drafts" do
    assert_equal true, Godwit.has?(:draft) if ENV["GODWIT_TEST_DRAFT"]
    assert_includes [true, false], Godwit.has?(:draft)
  end

  types = Godwit.has?(:draft) ? [] : %i[CLIENT SERVER RADIO DISH SCATTER GATHER PEER CHANNEL DGRAM]
  types.each do |type|
    test "#{type} needs a libzmq with drafts, and says so" do
      klass = Godwit.const_get(type)
      options = (type == :DISH) ? {join: "a"} : {}
      says = /#{type} is a draft type.*ENABLE_DRAFTS.*rake draft/
      [-> { klass.bind("tcp://*:*", context: context) }, -> { context.socket(type) },
        -> { klass.new(context: context, **options) }].each do |call|
        assert_kind_of Errno::EOPNOTSUPP, assert_named(Godwit::UnsupportedError, says, &call)
      end
    end
  end
end

if Godwit.has?(:draft)
  require_relative "draft_scenarios"
  require_relative "draft_waits"
end
