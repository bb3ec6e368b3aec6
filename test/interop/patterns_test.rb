# frozen_string_literal: true

# libzmq: test_heartbeats

require_relative "interop_case"

# Patterns and messages with pyzmq on the other side, either side binding. What passes between two
# libzmqs is theirs: these tests are about what Godwit adds, such as its PUB, formats and keys.
class InteropPatternsTest < InteropCase
  BINARY = (0..255).to_a.pack("C*").freeze
  SHAPES = [
    [""], ["", ""], ["a", "", "b"], [BINARY], [BINARY, "", BINARY.reverse], ["grün"],
    ["x" * 255, "x" * 256], Array.new(100) { |number| number.to_s * number },
    ["head", Random.new(1).bytes(1 << 20)]
  ].map { |frames| frames.map(&:b).freeze }.freeze

  each_binder "messages of every shape arrive as they were sent" do |transport, binder|
    ours = open_socket(:DEALER)
    theirs = python.socket(:DEALER)
    join(ours, theirs, binder: binder, transport: transport)
    SHAPES.each do |frames|
      ours.send((frames.size == 1) ? frames.first : frames)
      assert_equal frames, theirs.recv.map(&:b)
      theirs.send(*frames)
      assert_equal frames, received(ours)
    end
  end

  each_binder "REQ asks, REP answers, ROUTER serves" do |transport, binder|
    req = open_socket(:REQ)
    rep = python.socket(:REP)
    join(req, rep, binder: binder, transport: transport)
    req.send "question"
    assert_equal ["question"], rep.recv
    rep.send "answer", ""
    assert_equal ["answer", ""], req.recv
    rep = open_socket(:REP)
    router = open_socket(:ROUTER, mandatory: true)
    [rep, router].each do |ours|
      req = python.socket(:REQ, ROUTING_ID: "python")
      join(ours, req, binder: binder, transport: transport)
      req.send "question", ""
      *envelope, one, two = ours.recv
      assert_equal [((ours == rep) ? [] : ["python", ""]), "question", ""], [envelope, one, two]
      ours.send [*envelope, "answer"]
      assert_equal ["answer"], req.recv
    end
  end

  each_binder "PUB counts and serves pyzmq's XSUB, which asks by message" do |transport, binder|
    pub = open_socket(:PUB)
    xsub = python.socket(:XSUB)
    join(pub, xsub, binder: binder, transport: transport)
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

  each_binder "SUB is known to pyzmq's XPUB once it is connected" do |transport, binder|
    sub = open_socket(:SUB, subscribe: "a.")
    xpub = python.socket(:XPUB)
    join(sub, xpub, binder: binder, transport: transport)
    sub.wait_connected(timeout: PATIENCE)
    assert_equal ["\x01a."], xpub.recv
    sub.subscribe("b.").unsubscribe("a.")
    assert_equal [["\x01b."], ["\x00a."]], [xpub.recv, xpub.recv]
    xpub.send "a.1"
    xpub.send "b.1"
    assert_equal "b.1", sub.recv(timeout: PATIENCE)
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

  test "pyzmq's REP replies with an error" do
    req = open_socket(:REQ, format: :json)
    rep = python.socket(:REP)
    join(req, rep)
    asking = in_thread { req.request({id: 5}, timeout: PATIENCE) }
    assert_equal [{"id" => 5}], rep.recv_json
    rep.send "\xC1godwit/error\nNotFound\norder 5"
    error = assert_raises(Godwit::RemoteError) { asking.value }
    assert_equal ["NotFound", "order 5"], [error.remote_class, error.remote_message]
  end

  test "request asks again when pyzmq does not answer, and drops the late reply" do
    router = python.socket(:ROUTER)
    req = open_socket(:REQ).connect(router.bind(endpoint_for(:tcp)))
    answer = in_thread { req.request("hello", timeout: 0.3, retries: 100) }
    first, *question = router.recv
    assert_equal ["", "hello"], question
    again, *question = router.recv
    assert_equal ["", "hello"], question
    refute_equal first, again, "the socket was not recreated"
    router.send first, "", "late"
    # On a slow machine this answer may be late too: then there are more questions.
    while answer.alive?
      router.send again, "", "in time" if again
      again, = router.recv(timeout: 0.05)
    end
    assert_equal "in time", answer.value
  end

  test "heartbeats detect that pyzmq has stopped, and it returns" do
    ours = open_socket(:DEALER, heartbeat_interval: 0.1, heartbeat_timeout: 0.2)
    plain = open_socket(:DEALER)
    sockets =
      [ours, plain].map do |socket|
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

  each_binder "CURVE, Godwit is client and server, keys of either" do |transport, binder|
    keys = python.keypair
    theirs = Godwit::Curve::Keypair.new(public_key: keys[0], secret_key: keys[1])
    ours = Godwit::Curve.keypair
    rep = python.socket(
      :REP, CURVE_SERVER: 1, CURVE_PUBLICKEY: ours.public_key, CURVE_SECRETKEY: ours.secret_key
    )
    req = open_socket(:REQ, curve: theirs, server_key: ours.public_key)
    join(req, rep, binder: binder, transport: transport)
    req.send "question"
    assert_equal ["question"], rep.recv
    rep = open_socket(:REP, curve: theirs)
    req = python.socket(
      :REQ, CURVE_PUBLICKEY: ours.public_key, CURVE_SECRETKEY: ours.secret_key,
      CURVE_SERVERKEY: theirs.public_key
    )
    join(rep, req, binder: binder, transport: transport)
    req.send "question"
    assert_equal "question", rep.recv
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
