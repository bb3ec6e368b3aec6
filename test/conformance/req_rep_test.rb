# frozen_string_literal: true

# libzmq: test_req_relaxed, test_spec_req

require "test_helper"
require_relative "assertions"

class ReqRepTest < Godwit::TestCase
  include Conformance::Assertions

  under_gc_stress

  test "a REQ drops messages of a server that it did not ask" do
    asked, other = Array.new(2) { open_socket(:ROUTER).bind(endpoint_for(:inproc)) }
    req = open_socket(:REQ, routing_id: "client").connect(asked.last_endpoint, other.last_endpoint)
    req << "first"
    assert_equal ["client", "", "first"], asked.recv(timeout: 5)
    refute_predicate other, :readable?
    other << ["client", "", "not asked"]
    asked << ["client", "no delimiter before it"] << ["client", "", "the reply"]
    assert_equal "the reply", req.recv(timeout: 5)
  end

  each_transport("a relaxed REQ may ask again, and its peer receives both") do |transport|
    router = open_socket(:ROUTER).bind(endpoint_for(transport))
    req = open_socket(:REQ, relaxed: true).connect(router.last_endpoint)
    req << "first"
    assert_equal "first", router.recv(timeout: 5).last
    req << "second"
    id, _, body = router.recv(timeout: 5)
    assert_equal "second", body
    router << [id, "", "reply"]
    assert_equal "reply", req.recv(timeout: 5)
  end
end
