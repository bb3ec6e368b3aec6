# frozen_string_literal: true

# libzmq: test_heartbeats

require_relative "interop_case"

# Patterns and messages with pyzmq on the other side, either side binding. What passes between two
# libzmqs is theirs: these tests are about what Godwit adds, such as its PUB, formats and keys.
class InteropPatternsTest < InteropCase
  %i[godwit python].each do |binder|
    test "PUB counts and serves pyzmq's XSUB, which asks by message, #{binder} binds" do
      pub = open_socket(:PUB)
      xsub = python.socket(:XSUB)
      (binder == :godwit) ? xsub.connect(pub.bind(endpoint_for(:tcp)).last_endpoint) :
        pub.connect(xsub.bind(endpoint_for(:tcp)))
      xsub.send "\x01a."
      # A bound SUB sends its subscriptions to a connected PUB only during a call on the SUB.
      eventually("pyzmq's subscriptions never arrived") do
        xsub.recv(timeout: 0)
        pub.wait_connected(timeout: 0.05)
      rescue Godwit::TimeoutError
        false
      end
      xsub.send "a message that a PUB has no use for"
      xsub.send "\x01b."
      pub.wait_connected(count: 2, timeout: PATIENCE)
      pub << "c.1" << "a.1" << "b.1"
      assert_equal [["a.1"], ["b.1"]], [xsub.recv, xsub.recv]
      assert_equal [:writable], pub.events, "a PUB shows nothing to receive"
    end
  end

  test "format: :json is pyzmq's send_json and recv_json" do
    rep, router, pub, sub = %i[REP ROUTER PUB SUB].map do |type|
      open_socket(type, format: :json).bind(endpoint_for(:tcp))
    end
    sub.subscribe("price.")
    asks, asks_router, their_sub, their_pub = %i[REQ REQ SUB PUB].map { |type| python.socket(type) }
    [[asks, rep], [asks_router, router], [their_sub, pub],
      [their_pub, sub]].each { |theirs, ours| theirs.connect(ours.last_endpoint) }
    their_sub.subscribe("price.")
    in_thread { rep.serve { |value| (value == "no") ? KeyError.new("no") : [value, nil] } }
    in_thread { router.serve { |*front, value| [*front, [value]] } }
    [{"größe" => [1, 2.5, true]}, nil, "no", "x"].each do |value|
      asks.send_json(value)
      next assert_equal(["\xC1godwit/error\nKeyError\nno".b], asks.recv.map(&:b)) if value == "no"
      assert_equal [[value, nil]], asks.recv_json
      asks_router.send_json(value)
      assert_equal [[value]], asks_router.recv_json
    end
    pub.wait_connected(timeout: PATIENCE)
    pub << ["price.eur", {value: 101}]
    assert_equal ["price.eur", {"value" => 101}], their_sub.recv_json(before: 1)
    got = eventually("pyzmq's subscription never arrived") do
      their_pub.send_json("price.usd", {value: 102})
      sub.recv(timeout: 0.05, exception: false)
    end
    assert_equal ["price.usd", {value: 102}], got
  end

  test "heartbeats detect that pyzmq has stopped, and it returns" do
    ours = open_socket(:DEALER, heartbeat_interval: 0.1, heartbeat_timeout: 0.2)
    plain = open_socket(:DEALER)
    sockets = [ours, plain].map do |socket|
      python.socket(:DEALER).connect(socket.bind(endpoint_for(:tcp)).last_endpoint)
    end
    [ours, plain].each { |socket| assert socket.wait_writable(PATIENCE) }
    python.signal(:STOP)
    eventually("the connection of a stopped process is kept") { !ours.writable? }
    assert plain.writable?, "without heartbeats no side can detect it"
    python.signal(:CONT)
    assert ours.wait_writable(PATIENCE), "pyzmq never came back"
    # Again, where a stall of the machine is taken for another stop.
    assert_equal ["welcome back"],
      eventually { ours.send("welcome back") && sockets.first.recv(timeout: 1) }
  ensure
    python.signal(:CONT)
  end

  test "both sides make the same public key and Z85 of the same bytes" do
    public_key, secret_key = python.keypair
    assert_equal public_key, Godwit::Curve.public_key(secret_key)
    ours = Godwit::Curve.keypair
    assert_equal ours.public_key, python.ask(:curve_public, secret: ours.secret_key)
    bytes = Random.new(2).bytes(64)
    assert_equal python.ask(:z85, data: [bytes].pack("m0")), Godwit::Z85.encode(bytes)
  end
end
