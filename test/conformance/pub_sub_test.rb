# frozen_string_literal: true

# libzmq: test_conflate, test_hwm_pubsub, test_pub_invert_matching

require "test_helper"
require_relative "assertions"

class PubSubTest < Godwit::TestCase
  include Conformance::Assertions

  under_gc_stress

  # A PUB with a subscriber whose subscriptions have arrived.
  def subscribed(transport, *topics, **options)
    pub = open_socket(:PUB).bind(endpoint_for(transport))
    sub = open_socket(:SUB, subscribe: topics, **options).connect(pub.last_endpoint)
    [pub.wait_connected(count: topics.size, timeout: 5), sub]
  end

  each_transport("an empty topic matches everything, and no topic matches nothing") do |transport|
    pub, all = subscribed(transport, "")
    none = open_socket(:SUB).connect(pub.last_endpoint)
    pub << "" << "b" << ["", "c"]
    assert_equal ["", "b", ["", "c"]], take(all, 3)
    refute_predicate none, :readable?
    none.subscribe("z")
    pub.wait_connected(count: 2, timeout: 5)
    pub << "z"
    assert_equal "z", none.recv(timeout: 5)
  end

  each_transport("with several topics, one a prefix of another, a message arrives " \
    "once") do |transport|
    pub, sub = subscribed(transport, "a", "ab", "c")
    pub << "abc" << "b" << "c" << "a"
    assert_equal %w[abc c a], take(sub, 3)
    refute_predicate sub, :readable?
  end

  each_transport("topics are bytes") do |transport|
    topic = "\x00\xff\x01".b
    pub, sub = subscribed(transport, topic, "ä")
    pub << "\x00\xfe".b << topic + "x" << "äh"
    assert_equal [topic + "x", "äh".b], take(sub, 2)
  end

  each_transport("each of several subscribers gets each message") do |transport|
    pub = open_socket(:PUB).bind(endpoint_for(transport))
    subs = Array.new(3) { open_socket(:SUB, subscribe: "").connect(pub.last_endpoint) }
    pub.wait_connected(count: 3, timeout: 5)
    100.times { |i| pub << i.to_s }
    subs.each { |sub| assert_equal Array.new(100, &:to_s), take(sub, 100) }
  end

  each_transport("a SUB receives from several publishers, bound or connected") do |transport|
    sub = open_socket(:SUB, subscribe: "").bind(endpoint_for(transport))
    pubs = Array.new(2) { open_socket(:PUB).connect(sub.last_endpoint) }
    bound = open_socket(:PUB).bind(endpoint_for(transport))
    sub.connect(bound.last_endpoint)
    # A bound SUB sends its subscriptions to a new PUB only during a call on the SUB.
    received = in_thread { take(sub, 3) }
    [*pubs, bound].each_with_index { |pub, i| pub.wait_connected(timeout: 5) << "from #{i}" }
    assert_equal ["from 0", "from 1", "from 2"], received.value.sort
  end

  each_transport("a PUB without subscribers drops, and never waits") do |transport|
    pub = open_socket(:PUB, send_hwm: 1).bind(endpoint_for(transport))
    rounds(10_000, stressed: 1_000).times { assert_same pub, pub.send("x" * 100, timeout: 0) }
    assert_equal [:writable], pub.events
  end

  test "a PUB drops for a subscriber that is full, and others still get all" do
    pub = open_socket(:PUB, send_hwm: 10).bind(endpoint_for(:inproc))
    slow = open_socket(:SUB, subscribe: "", recv_hwm: 10).connect(pub.last_endpoint)
    fast = open_socket(:SUB, subscribe: "", recv_hwm: 0).connect(pub.last_endpoint)
    pub.wait_connected(count: 2, timeout: 5)
    100.times { |i| pub << i.to_s }
    assert_equal Array.new(100, &:to_s), take(fast, 100)
    assert_equal Array.new(20, &:to_s), slow.recv_many(1000, timeout: 5)
  end

  each_transport("conflate keeps the last message only") do |transport|
    pub, sub = subscribed(transport, "", conflate: true)
    1000.times { |i| pub << i.to_s }
    received = []
    # libzmq drops a message that comes while its other thread takes the previous one, the last too
    # (docs/limits.md)
    eventually do
      pub << "last"
      received << sub.recv_nonblock(exception: false)
      received.last == "last"
    end
    assert_operator received.count { |message| message != :wait_readable }, :<, 10
  end

  each_transport("invert_matching returns messages that do not match") do |transport|
    pub = open_socket(:PUB, invert_matching: true).bind(endpoint_for(transport))
    sub = open_socket(:SUB, invert_matching: true, subscribe: "a").connect(pub.last_endpoint)
    pub.wait_connected(timeout: 5)
    pub << "a1" << "b1" << "a2"
    assert_equal "b1", sub.recv(timeout: 5)
    refute_predicate sub, :readable?
  end
end
