# frozen_string_literal: true

# libzmq: test_connect_rid, test_router_handover, test_spec_dealer, test_spec_router

require "test_helper"
require_relative "assertions"

class DealerRouterTest < Godwit::TestCase
  include Conformance::Assertions

  under_gc_stress

  each_transport("a DEALER sends to its peers in turn") do |transport|
    peers = Array.new(3) { open_socket(:DEALER).bind(endpoint_for(transport)) }
    dealer = open_socket(:DEALER).connect(*peers.map(&:last_endpoint))
    9.times { |i| dealer << i.to_s }
    peers.each_with_index { |peer, i| assert_equal [i, i + 3, i + 6].map(&:to_s), take(peer, 3) }
  end

  each_transport("a peer that sends without end does not starve another") do |transport|
    router = open_socket(:ROUTER).bind(endpoint_for(transport))
    greedy, modest =
      %w[greedy modest].map do |id|
        open_socket(:DEALER, routing_id: id).connect(router.last_endpoint)
      end
    in_thread { loop { greedy << "me!" } }
    assert_equal ["greedy", "me!"], router.recv(timeout: 5)
    modest << "me too"
    assert(eventually { router.recv_many(1000, timeout: 5).include?(["modest", "me too"]) })
  end

  each_transport("without mandatory a message to an unknown peer is dropped, and the next one is " \
    "sent") do |transport|
    router, dealer =
      connected_pair(:ROUTER, :DEALER, transport: transport, connect_options: {routing_id: "me"})
    dealer << "here I am"
    router.recv(timeout: 5)
    router << ["nobody", "lost"] << ["me", "found"]
    assert_equal "found", dealer.recv(timeout: 5)
  end

  test "the routing id alone is an empty message to that peer's REP side" do
    router, dealer =
      connected_pair(:ROUTER, :DEALER, transport: :tcp, connect_options: {routing_id: "me"})
    dealer << ""
    assert_equal ["me", ""], router.recv(timeout: 5)
    router << ["me", ""]
    assert_equal "", dealer.recv(timeout: 5)
  end

  test "a routing id of 255 binary bytes" do
    id = ("\x01\xff\x80".b * 85)
    router, dealer = connected_pair(:ROUTER, :DEALER, connect_options: {routing_id: id})
    dealer << "x"
    assert_equal [id, "x"], router.recv(timeout: 5)
  end

  test "connect_routing_id names the peer on the connecting side" do
    dealer = open_socket(:DEALER).bind(endpoint_for(:tcp))
    router = open_socket(:ROUTER, connect_routing_id: "server").connect(dealer.last_endpoint)
    router << ["server", "hello"]
    assert_equal "hello", dealer.recv(timeout: 5)
  end

  test "of two peers with one routing id the first keeps it, unless handover gives it to the " \
    "second" do
    {false => "first", true => "second"}.each do |handover, received|
      router = open_socket(:ROUTER, handover: handover).bind(endpoint_for(:tcp))
      first = open_socket(:DEALER, routing_id: "twin").connect(router.last_endpoint)
      first << "first"
      assert_equal ["twin", "first"], router.recv(timeout: 5)
      # The ROUTER reads the second peer's id with its first message: messages of a refused peer
      # never arrive.
      second = open_socket(:DEALER, routing_id: "twin").connect(router.last_endpoint)
      second << "second"
      other = open_socket(:DEALER, routing_id: "other").connect(router.last_endpoint)
      other << "last"
      messages = [router.recv(timeout: 5)]
      messages << router.recv(timeout: 5) if handover
      assert_equal handover, messages.include?(["twin", "second"])
      router << ["twin", "for the one"]
      assert_equal "for the one",
        {"first" => first, "second" => second}.fetch(received).recv(timeout: 5)
    end
  end

  each_transport("ROUTER to ROUTER, by the ids that they chose") do |transport|
    a, b =
      connected_pair(
        :ROUTER,
        :ROUTER,
        transport: transport,
        bind_options: {
          routing_id: "a"
        },
        connect_options: {
          routing_id: "b"
        }
      )
    eventually { b.send(["a", "hello"]) && b.wait_writable(5) && a.wait_readable(0.05) }
    assert_equal ["b", "hello"], a.recv(timeout: 5)
    a << ["b", "hello back"]
    assert_equal ["a", "hello back"], b.recv(timeout: 5)
  end
end
