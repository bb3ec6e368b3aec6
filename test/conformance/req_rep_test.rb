# frozen_string_literal: true

# libzmq: test_req_correlate, test_req_relaxed, test_reqrep_inproc, test_reqrep_ipc, test_reqrep_tcp
# libzmq: test_spec_req

require "test_helper"
require_relative "assertions"

class ReqRepTest < Godwit::TestCase
  include Conformance::Assertions

  under_gc_stress

  each_transport("a request gets its reply, again and again") do |transport|
    rep, req = connected_pair(:REP, :REQ, transport: transport)
    3.times do |i|
      assert_same req, req.send("question #{i}")
      assert_equal "question #{i}", rep.recv(timeout: 5)
      assert_same rep, rep.send("answer #{i}")
      assert_equal "answer #{i}", req.recv(timeout: 5)
    end
  end

  each_transport("the REQ may bind and the REP connect") do |transport|
    req, rep = connected_pair(:REQ, :REP, transport: transport)
    req << "a"
    assert_equal "a", rep.recv(timeout: 5)
    rep << "b"
    assert_equal "b", req.recv(timeout: 5)
  end

  each_transport("requests and replies of several frames, also empty ones") do |transport|
    rep, req = connected_pair(:REP, :REQ, transport: transport)
    [["a", "b"], ["", "b"], ["a", ""], ["", ""], ["", "", "", "x"]].each do |message|
      req << message
      assert_equal message, rep.recv(timeout: 5)
      rep << message.reverse
      assert_equal message.reverse, req.recv(timeout: 5)
    end
  end

  each_transport("each of several clients gets its own reply") do |transport|
    rep = open_socket(:REP).bind(endpoint_for(transport))
    clients = Array.new(3) { open_socket(:REQ).connect(rep.last_endpoint) }
    clients.each_with_index { |client, i| client << "client #{i}" }
    asked = Array.new(3) { rep.recv(timeout: 5).tap { |message| rep << message.upcase } }
    assert_equal ["client 0", "client 1", "client 2"], asked.sort
    clients.each_with_index { |client, i| assert_equal "CLIENT #{i}", client.recv(timeout: 5) }
  end

  each_transport("a REQ asks its servers in turn") do |transport|
    servers = Array.new(3) { open_socket(:REP).bind(endpoint_for(transport)) }
    req = open_socket(:REQ).connect(*servers.map(&:last_endpoint))
    6.times do |i|
      req << "request #{i}"
      server = servers[i % 3]
      assert_equal "request #{i}", server.recv(timeout: 5)
      server << "server #{i % 3}"
      assert_equal "server #{i % 3}", req.recv(timeout: 5)
    end
  end

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

  each_transport("correlate drops the reply to an earlier request") do |transport|
    router = open_socket(:ROUTER).bind(endpoint_for(transport))
    req = open_socket(:REQ, relaxed: true, correlate: true).connect(router.last_endpoint)
    req << "first"
    id, number, _, body = router.recv(timeout: 5)
    assert_equal ["first", 4], [body, number.bytesize]
    req << "second"
    _, second, _, body = router.recv(timeout: 5)
    assert_equal "second", body
    refute_equal number, second
    router << [id, number, "", "late"] << [id, second, "", "in time"]
    assert_equal "in time", req.recv(timeout: 5)
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
