# frozen_string_literal: true

# Sends and receives out of turn, wrong types, use after close.

TURN_REQ_SEND = "a REQ sends and receives in turn: receive the reply first, use `request`, or " \
  "make it with relaxed: true, correlate: true"
TURN_REQ_RECV = "a REQ sends and receives in turn: send a request first, then receive its reply"
TURN_REP = "a REP receives and sends in turn: receive a request first, then send its reply"

Plain.each_transport "a REQ that sends twice" do |transport|
  rep, req = connected_pair(:REP, :REQ, transport: transport)
  req << "first"
  state = "#{req.last_endpoint}: Not allowed in this state (#{TURN_REQ_SEND})"
  error = refused(Godwit::StateError, "send #{state}") { req << "second" }
  assert_equal [:send, req.last_endpoint, false],
    [error.operation, error.endpoint, error.retriable?]
  [-> { req.send("second", timeout: 1) }, -> { req.send_nonblock("second") },
    -> { req.request("second", timeout: 1) }].each do |call|
    refused(Godwit::StateError, "send #{state}", &call)
  end
  error = assert_raises(Godwit::StateError) { req.send_many(["second"]) }
  assert_equal 0, error.sent
  assert_equal "first", rep.recv(timeout: 5)
  assert_flows(rep, req, "reply")
  error = refused(Godwit::StateError, "send_many #{state}") { req.send_many(%w[third fourth]) }
  assert_equal 1, error.sent
  assert_equal "third", rep.recv(timeout: 5)
  assert_flows(rep, req, "reply")
  refute_predicate rep, :readable?
  assert_flows(req, rep)
end

Plain.each_transport "a REQ that receives first, a REP that sends first" do |transport|
  rep, req = connected_pair(:REP, :REQ, transport: transport)
  state = "#{req.last_endpoint}: Not allowed in this state"
  refused(Godwit::StateError, "recv #{state} (#{TURN_REQ_RECV})") { req.recv }
  refused(Godwit::StateError, "recv #{state} (#{TURN_REQ_RECV})") { req.recv(timeout: 1) }
  refused(Godwit::StateError, "recv_many #{state} (#{TURN_REQ_RECV})") { req.recv_many }
  refused(Godwit::StateError, "send #{state} (#{TURN_REP})") { rep << "x" }
  assert_flows(req, rep, "question")
  refused(Godwit::StateError, "recv #{state} (#{TURN_REP})") { rep.recv(timeout: 1) }
  assert_flows(rep, req, "answer")
end

Plain.scenario "sending on a PULL and on a SUB" do
  {SUB: :XPUB, PULL: :PUSH}.each do |type, peer|
    sender, receiver = connected_pair(peer, type, transport: :inproc)
    text = "#{receiver.last_endpoint}: Operation not supported (a #{type} only receives: send on " \
      "its peer, or use another type)"
    error = refused(Godwit::UnsupportedError, "send #{text}") { receiver << "x" }
    assert_kind_of Errno::EOPNOTSUPP, error
    refused(Godwit::UnsupportedError, "send #{text}") { receiver.send("x", timeout: 1) }
    refused(Godwit::UnsupportedError, "send_many #{text}") { receiver.send_many(["x"]) }
    refused(Godwit::UnsupportedError, "wait_writable #{text}") { receiver.wait_writable }
    receiver.subscribe("") && sender.recv(timeout: 5) if type == :SUB
    assert_flows(sender, receiver)
  end
end

Plain.scenario "receiving on a PUSH and on a PUB" do
  %i[PUSH PUB].each do |type|
    sender = open_socket(type).bind(endpoint_for(:inproc))
    text = "#{sender.last_endpoint}: Operation not supported (a #{type} only sends: receive on " \
      "its peer, or use another type)"
    refused(Godwit::UnsupportedError, "recv #{text}") { sender.recv }
    refused(Godwit::UnsupportedError, "recv #{text}") { sender.recv(timeout: 1) }
    refused(Godwit::UnsupportedError, "recv_many #{text}") { sender.recv_many }
    refused(Godwit::UnsupportedError, "wait_readable #{text}") { sender.wait_readable }
  end
end

Plain.each_transport "a mandatory ROUTER to a peer that is not there" do |transport|
  router, dealer = connected_pair(:ROUTER, :DEALER, transport: transport,
    bind_options: {mandatory: true}, connect_options: {routing_id: "peer"})
  dealer << "hello"
  error = refused(Godwit::UnreachableError, "send #{router.last_endpoint}: No route to host (the " \
    "peer with the routing id of the first frame is not connected; send after its next message)") do
    router << %w[nobody x]
  end
  assert_kind_of Errno::EHOSTUNREACH, error
  assert_predicate error, :retriable?
  assert_equal ["peer", "hello"], router.recv(timeout: 5)
  router << ["peer", "welcome"]
  assert_equal "welcome", dealer.recv(timeout: 5)
end

Plain.scenario "subscribing on a socket that is no SUB, and to what is no String" do
  %i[PULL PUB XSUB].each do |type|
    refused(Godwit::OptionError, "option subscribe (ZMQ_SUBSCRIBE) is for SUB, XPUB sockets, not " \
      "for #{type}") { open_socket(type).subscribe("a") }
  end
  [nil, 5, ["a"]].each do |topic|
    error = assert_raises(Godwit::OptionError) { open_socket(:SUB).subscribe(topic) }
    assert_includes error.message, "option subscribe (ZMQ_SUBSCRIBE) takes a String of at most"
  end
end

Plain.scenario "use after close: every call raises" do
  socket = open_socket(:DEALER).bind(endpoint_for(:inproc))
  socket.close
  assert_nil socket.close
  [
    -> { socket.send("x") }, -> { socket << "x" }, -> { socket.send("x", timeout: 1) },
    -> { socket.send("x", timeout: 0, exception: false) },
    -> { socket.recv(timeout: 0, exception: false) },
    -> { socket.send_nonblock("x") }, -> { socket.send_many(["x"]) }, -> { socket.recv },
    -> { socket.recv(timeout: 1) }, -> { socket.recv_nonblock }, -> { socket.recv_many },
    -> { socket.recv_multipart }, -> { socket.recv_string }, -> { socket.bind("inproc://x") },
    -> { socket.connect("inproc://x") }, -> { socket.unbind("inproc://x") },
    -> { socket.disconnect("inproc://x") }, -> { socket.wait_readable },
    -> { socket.wait_writable(1) }, -> { socket.events }, -> { socket.readable? },
    -> { socket.writable? }, -> { socket.send_hwm }, -> { socket.send_hwm = 1 },
    -> { socket.zmq_fd }, -> { socket.pointer }
  ].each do |call|
    error = assert_raises(Godwit::ClosedError) { call.call }
    assert_kind_of IOError, error
    assert_includes error.message, "Closed (open a new one)"
  end
  assert_same socket, socket.each { flunk }
  assert_equal [true, :DEALER, context], [socket.closed?, socket.type, socket.context]
end

Plain.scenario "an object that was merely allocated, a copy, a second initialize" do
  socket = Godwit::PULL.allocate
  calls = [-> { socket.recv }, -> { socket.recv_many }, -> { socket.wait_readable(0) },
    -> { socket.connect("inproc://x") }, -> { socket.recv_hwm }, -> { socket.recv_hwm = 3 },
    -> { Godwit::PUSH.allocate << "x" }, -> { Godwit::PUSH.allocate.send_many(["x"]) },
    -> { Godwit::Context.allocate.io_threads }]
  # RBS type checks fail on objects that allocate has made. mruby has no type checks and no ENV.
  typed = Object.const_defined?(:ENV) && ENV["GODWIT_TEST_TYPES"]
  calls << -> { Godwit::PULL.new(context: Godwit::Context.allocate) } unless typed
  calls.each { |call| assert_raises(Godwit::ClosedError) { call.call } }
  socket.close
  pull = open_socket(:PULL)
  error = assert_raises(Godwit::UnsupportedError) { pull.dup }
  assert_includes error.message, "dup: Operation not supported (a socket cannot be copied: share"
  assert_raises(Godwit::UnsupportedError) { context.dup }
  assert_raises(Godwit::UnsupportedError) { open_poller.dup }
  refused(Godwit::StateError, "new: Not allowed in this state (this socket is open already; " \
    "Godwit::PULL.new makes another)") { pull.__send__(:initialize, context: context) }
  refused(Godwit::StateError, "new: Not allowed in this state (this context is open already; " \
    "Context.new makes another)") { context.__send__(:initialize) }
end

Plain.scenario "messages sent before the close arrive" do
  pull, push = connected_pair(:PULL, :PUSH)
  push << "before"
  push.close
  assert_raises(Godwit::ClosedError) { push << "after" }
  assert_equal "before", pull.recv(timeout: 5)
end

Plain.scenario "request: no reply, and the REQ is usable and drops the late reply" do
  router = open_socket(:ROUTER).bind(endpoint_for(:tcp))
  req = open_socket(:REQ, linger: 0).connect(router.last_endpoint)
  request = eventually do
    error = assert_raises(Godwit::TimeoutError) { req.request("first", timeout: 0.2) }
    assert_includes error.message, "Timed out"
    router.recv(timeout: 1, exception: false)
  end
  assert_nil req.request("again", timeout: 0.01, retries: 2, exception: false)
  router << [*request[0..1], "late"]
  req << "second"
  nil until (second = router.recv(timeout: 5)).last == "second"
  router << [*second[0..1], "in time"]
  assert_equal "in time", req.recv(timeout: 5)
  refused(Godwit::ArgumentValueError,
    "request: retries: takes a number, 0 or more: got -1 (Integer)") do
    req.request("x", retries: -1)
  end
end

Plain.scenario "serve replies with the block's value, and goes on after an error" do
  rep = open_socket(:REP).bind(endpoint_for(:inproc))
  clients = Array.new(3) { open_socket(:REQ).connect(rep.last_endpoint) }
  clients.each_with_index { |client, i| client << "request #{i}" }
  seen = []
  errors = ->(error, message) { "#{error.class} for #{message}" }
  assert_same rep, rep.serve(on_error: errors) { |message|
    seen << message
    raise ArgumentError, "no" if seen.size == 2
    rep.close if seen.size == 3
    message.upcase
  }
  assert_equal ["request 0", "request 1", "request 2"], seen.sort
  replies = clients.map { |client| client.recv(timeout: 0, exception: false) }
  assert_equal [seen[0].upcase, "ArgumentError for #{seen[1]}"].sort, replies.compact.sort
  refused(Godwit::ArgumentValueError, "serve: serve needs a block that makes the reply") do
    open_socket(:REP).serve
  end
end

Plain.scenario "serve replies with the errors that it chooses" do
  rep = open_socket(:REP).bind(endpoint_for(:inproc))
  clients = Array.new(3) { open_socket(:REQ).connect(rep.last_endpoint) }
  clients.each { |client| client << "x" }
  seen = 0
  rep.serve do |_message|
    seen += 1
    raise Godwit::RemoteError.new("far", remote_class: "A::B", remote_message: "") if seen == 2
    rep.close if seen == 3
    KeyError.new("grün\nx")
  end
  frames = clients.map { |client| client.recv(timeout: 0, exception: false) }.compact
  errors = frames.map { |frame| Godwit::ErrorReply.load(frame) }
  assert_equal ["A::B: ", "KeyError: grün\nx"],
    errors.map { |error| "#{error.remote_class}: #{error.remote_message}" }.sort
  assert_nil Godwit::ErrorReply.load("\xC1godwit/err")
end
