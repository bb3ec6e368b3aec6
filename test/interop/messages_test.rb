# frozen_string_literal: true

# libzmq: test_heartbeats

require "socket"
require_relative "interop_case"

# The wire: shapes and sizes of messages, IPv6, heartbeats, REQ's options.
class InteropMessagesTest < InteropCase
  BINARY = (0..255).to_a.pack("C*").freeze
  SHAPES = [
    [""], ["", ""], ["a", "", "b"], ["", "a", ""], [BINARY], [BINARY, "", BINARY.reverse], ["\0"],
    ["grün"], ["x" * 33], ["x" * 34], ["x" * 255], ["x" * 256], ["x" * 8192, "y" * 8193],
    Array.new(100) { |number| number.to_s * number }
  ].freeze
  MIB = Random.new(1).bytes(1 << 20).freeze

  def same?(one, other) = one.map(&:b) == other.map(&:b)

  each_binder "messages of every shape arrive as they were sent" do |transport, binder|
    ours = open_socket(:DEALER)
    theirs = python.socket(:DEALER)
    join(ours, theirs, binder: binder, transport: transport)
    SHAPES.each do |frames|
      ours.send((frames.size == 1) ? frames.first : frames)
      assert same?(frames, theirs.recv), "to pyzmq: #{frames.inspect[0, 100]}"
      theirs.send(*frames)
      message = ours.recv(timeout: PATIENCE)
      assert_kind_of((frames.size == 1) ? String : Array, message)
      assert same?(frames, [*message]), "from pyzmq: #{frames.inspect[0, 100]}"
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
    published(-> { sub.recv(timeout: 0.05, exception: false) }) do
      their_pub.send_json("price.usd", {value: 102})
    end => received
    assert_equal ["price.usd", {value: 102}], received
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

  each_binder "messages of 1 MiB arrive whole" do |transport, binder|
    ours = open_socket(:PAIR)
    theirs = python.socket(:PAIR)
    join(ours, theirs, binder: binder, transport: transport)
    ours << MIB << ["head", MIB]
    assert theirs.recv == [MIB], "one frame to pyzmq"
    assert theirs.recv == ["head", MIB], "two frames to pyzmq"
    theirs.send(MIB)
    theirs.send("head", MIB)
    assert ours.recv(timeout: PATIENCE) == MIB, "one frame from pyzmq"
    assert ours.recv(timeout: PATIENCE) == ["head", MIB], "two frames from pyzmq"
  end

  %i[godwit python].each do |binder|
    test "IPv6, #{binder} binds" do
      unless ::Socket.ip_address_list.any?(&:ipv6_loopback?)
        skip "this machine has no IPv6 address ::1"
      end
      rep = open_socket(:REP, ipv6: true)
      req = python.socket(:REQ, IPV6: 1)
      join(rep, req, binder: binder, endpoint: "tcp://[::1]:*")
      assert_match %r{\Atcp://\[::1\]:\d+\z}, rep.last_endpoint
      req.send "hello"
      assert_equal "hello", rep.recv(timeout: PATIENCE)
      rep.send "world"
      assert_equal ["world"], req.recv
    end
  end

  test "a relaxed, correlated REQ drops the reply of pyzmq's REP to the request that it gave up" do
    req = open_socket(:REQ, relaxed: true, correlate: true)
    rep = python.socket(:REP)
    join(req, rep)
    req << "first" << "second"
    2.times { rep.send "to #{rep.recv.first}" }
    assert_equal "to second", req.recv(timeout: PATIENCE)
    assert_raises(Godwit::TimeoutError, Godwit::StateError) { req.recv(timeout: 0) }
    req.send "third"
    rep.send "to #{rep.recv.first}"
    assert_equal "to third", req.recv(timeout: PATIENCE)
  end

  test "REP serves a relaxed, correlated REQ of pyzmq" do
    rep = open_socket(:REP)
    req = python.socket(:REQ, REQ_RELAXED: 1, REQ_CORRELATE: 1)
    join(rep, req)
    req.send "first"
    req.send "second"
    in_thread { rep.serve { |message| "to #{message}" } }
    assert_equal ["to second"], req.recv
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

  test "heartbeats of both sides keep an idle connection" do
    ours = open_socket(:DEALER, heartbeat_interval: 0.05, heartbeat_timeout: 10, heartbeat_ttl: 10)
    theirs =
      python.socket(
        :DEALER, HEARTBEAT_IVL: 50, HEARTBEAT_TIMEOUT: 10_000, HEARTBEAT_TTL: 10_000
      ).monitor
    join(ours, theirs)
    assert theirs.event("HANDSHAKE_SUCCEEDED")
    assert_nil theirs.event("DISCONNECTED", timeout: REFUSED)
    ours.send "still here"
    assert_equal ["still here"], theirs.recv
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

  test "pyzmq's heartbeats find that Godwit has stopped" do
    theirs = python.socket(:DEALER, HEARTBEAT_IVL: 100, HEARTBEAT_TIMEOUT: 200).monitor
    child = start_child(<<~RUBY, [theirs.bind(endpoint_for(:tcp))], deadline: 20)
      require "godwit"
      dealer = Godwit::DEALER.connect(ARGV[0], linger: 0)
      puts "ready"
      loop { dealer.send(dealer.recv(timeout: 15)) }
    RUBY
    assert theirs.event("HANDSHAKE_SUCCEEDED")
    child.wait_for("ready").signal(:STOP)
    assert theirs.event("DISCONNECTED")
    child.signal(:CONT)
    assert theirs.event("HANDSHAKE_SUCCEEDED"), "Godwit never came back"
    # Again, where a stall of the machine is taken for another stop.
    assert_equal ["welcome back"],
      eventually { theirs.send("welcome back") || theirs.recv(timeout: 1) }
    child.signal(:KILL).finish
  end
end
