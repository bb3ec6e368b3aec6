# frozen_string_literal: true

# libzmq: test_hwm, test_hwm_pubsub, test_metadata, test_pub_invert_matching
# libzmq: test_sockopt_hwm, test_xpub_nodrop

require_relative "case"

# Tests that plain/patterns.rb does not have: senders that wait in a thread, and behaviour that
# Godwit adds to a socket type. Godwit's PUB is an XPUB of libzmq.
class PatternsTest < Conformance::Case
  test "a PUB drops for a subscriber that is full, and others still get all" do
    pub = open_socket(:PUB, send_hwm: 10).bind(endpoint_for(:inproc))
    slow = open_socket(:SUB, subscribe: "", recv_hwm: 10).connect(pub.last_endpoint)
    fast = open_socket(:SUB, subscribe: "", recv_hwm: 0).connect(pub.last_endpoint)
    pub.wait_connected(count: 2, timeout: 5)
    100.times { |i| pub << i.to_s }
    assert_equal Array.new(100, &:to_s), take(fast, 100)
    assert_equal Array.new(20, &:to_s), slow.recv_many(1000, timeout: 5)
  end

  test "a PUB takes invert_matching" do
    pub = open_socket(:PUB, invert_matching: true).bind(endpoint_for(:inproc))
    sub = open_socket(:SUB, invert_matching: true, subscribe: "a").connect(pub.last_endpoint)
    pub.wait_connected(timeout: 5)
    pub << "a1" << "b1" << "a2"
    assert_equal "b1", sub.recv(timeout: 5)
    refute_predicate sub, :readable?
  end

  each_transport("an XPUB that may not drop waits for its subscribers") do |transport|
    xpub = open_socket(:XPUB, xpub_no_drop: true, send_hwm: 5).bind(endpoint_for(transport))
    sub = open_socket(:SUB, subscribe: "", recv_hwm: 5).connect(xpub.last_endpoint)
    assert_equal "\x01".b, xpub.recv(timeout: 5)
    count = 0
    count += 1 while xpub.send([count.to_s, "x" * 65_536], timeout: 0.1, exception: false)
    assert_raises(Godwit::TimeoutError) do
      loop { xpub.send([count.to_s, ""], timeout: 0.02) && count += 1 }
    end
    assert_equal Array.new(count, &:to_s), take(sub, count).map(&:first)
    assert_same xpub, xpub.wait_writable(5)
    assert_flows(xpub, sub)
  end

  # If a bound or connected socket changed its high-water mark, libzmq 4.3 might use freed memory of
  # pipes, or a sender might wait for ever.
  each_transport "a high-water mark is fixed by the first bind or connect" do |transport|
    push = open_socket(:PUSH, send_hwm: 5).bind(endpoint_for(transport))
    pull = open_socket(:PULL).connect(push.last_endpoint)
    push.unbind(push.last_endpoint)
    [-> { push.send_hwm = 6 }, -> { pull.set(:recv_hwm, 6) },
      -> { pull.send_hwm = 6 }].each do |change|
      assert_named(Godwit::StateError,
        /fixed by the first bind or connect: give it to the constructor/, operation: :set, &change)
    end
    assert_equal [5, 1000], [push.send_hwm, pull.recv_hwm]
  end

  test "a ZAP authenticator's metadata of a client are properties of the client's messages" do
    not_on :ffi, "a frame has libzmq's own properties alone"
    zap = open_socket(:REP).bind("inproc://zeromq.zap.01")
    # RFC 27: the property's name and value, each after its size.
    world = [5, "Hello", 5, "World"].pack("CA*NA*")
    in_thread { zap.serve { |version, id, *| [version, id, "200", "OK", "anna", world] } }
    pull = open_socket(:PULL, zap_domain: "a domain").bind(endpoint_for(:tcp))
    open_socket(:PUSH).connect(pull.last_endpoint) << "hello"
    frame = pull.recv_frame(timeout: 5)
    assert_equal ["World", "anna", nil],
      %w[Hello User-Id No-Such].map { |name| frame.property(name) }
  end
end
