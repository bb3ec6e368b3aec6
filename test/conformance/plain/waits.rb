# frozen_string_literal: true

# Time-outs, calls that do not wait, batches, high-water marks.

Plain.scenario "TimeoutError after the given time" do
  socket = open_socket(:DEALER).bind(endpoint_for(:tcp))
  text = "#{socket.last_endpoint}: Timed out (the peer may be absent or slow; try again, or pass " \
    "a longer timeout)"
  {
    recv: -> { socket.recv(timeout: 0.02) },
    recv_many: -> { socket.recv_many(7, timeout: 0.02) }
  }.each do |operation, call|
    start = Godwit::Timeout.now
    error = refused(Godwit::TimeoutError, "#{operation} #{text}") { call.call }
    assert Godwit::Timeout.now - start >= 0.02
    assert_kind_of Errno::ETIMEDOUT, error
    assert_equal [operation, socket.last_endpoint, Errno::ETIMEDOUT::Errno, true],
      [error.operation, error.endpoint, error.errno, error.retriable?]
  end
  refused(
    Godwit::TimeoutError, "send #{socket.last_endpoint}: Timed out (no peer took it: none is " \
    "connected, or its high-water mark is reached)"
  ) { socket.send("x", timeout: 0.02) }
end

Plain.scenario "no time, and hardly any" do
  socket = open_socket(:DEALER).bind(endpoint_for(:tcp))
  [0, 0.0, -0.0, 1e-9, 0.0005].each do |timeout|
    assert_raises(Godwit::TimeoutError) { socket.recv(timeout: timeout) }
    assert_raises(Godwit::TimeoutError) { socket.send("x", timeout: timeout) }
    assert_nil socket.recv(timeout: timeout, exception: false)
    assert_nil socket.send("x", timeout: timeout, exception: false)
    assert_nil socket.recv_many(7, timeout: timeout, exception: false)
    assert_nil socket.recv_string(timeout: timeout, exception: false)
    assert_nil socket.recv_multipart(timeout: timeout, exception: false)
  end
end

Plain.scenario "an invalid duration is refused, and the socket stays usable" do
  a, b = connected_pair(:DEALER, :DEALER, transport: :inproc)
  [->(t) { a.recv(timeout: t) }, ->(t) { a.send("x", timeout: t) },
    ->(t) { a.send_many(["x"], timeout: t) }, ->(t) { a.recv_many(timeout: t) },
    ->(t) { a.wait_readable(t) }, ->(t) { a.wait_writable(t) }].each do |call|
    refused(Godwit::ArgumentValueError,
      "a timeout is at least 0 seconds, or nil for none: got -1.0") { call.call(-1) }
    {"1" => "\"1\" (String)", :forever => ":forever (Symbol)", false => "false (FalseClass)",
     [1] => "[1] (Array)"}.each do |timeout, shown|
      refused(Godwit::ArgumentTypeError,
        "a timeout is a number of seconds, or nil for none: got #{shown}") { call.call(timeout) }
    end
    [0.0 / 0.0, -1 / 0.0, -0.001].each do |timeout|
      assert_raises(Godwit::ArgumentValueError, timeout.to_s) { call.call(timeout) }
    end
  end
  refute_predicate b, :readable?
  assert_flows(a, b)
end

Plain.scenario "the socket's own time-out is the default" do
  socket = open_socket(:DEALER, recv_timeout: 0.01, send_timeout: 0.02).bind(endpoint_for(:tcp))
  assert_equal [0.01, 0.02], [socket.recv_timeout, socket.send_timeout]
  {
    "<<" => -> { socket << "x" }, "send" => -> { socket.send("x") },
    "recv" => -> { socket.recv }, "recv_many" => -> { socket.recv_many },
    "recv_multipart" => -> { socket.recv_multipart }, "recv_string" => -> { socket.recv_string }
  }.each { |name, call| assert_raises(Godwit::TimeoutError, name) { call.call } }
  assert_nil socket.recv(exception: false)
  socket.recv_timeout = socket.send_timeout = 0
  assert_raises(Godwit::TimeoutError) { socket.recv }
  assert_raises(Godwit::TimeoutError) { socket.send_many(["x"]) }
end

Plain.scenario "a message that is there is taken with no time at all" do
  a, b = connected_pair(:DEALER, :DEALER, transport: :inproc)
  4.times { b.send("x", timeout: 0) }
  assert_equal ["x", ["x"], "x", ["x"]],
    [a.recv(timeout: 0), a.recv_multipart(timeout: 0), a.recv_string(timeout: 0),
      a.recv_many(timeout: 0)]
end

Plain.scenario "a time-out names the cause where it is known" do
  refused(Godwit::TimeoutError, "recv: Timed out (the socket is neither bound nor connected)") do
    open_socket(:DEALER).recv(timeout: 0)
  end
  sub = open_socket(:SUB).bind(endpoint_for(:inproc))
  hint = "#{sub.last_endpoint}: Timed out (a SUB receives nothing before it subscribes: " \
    "subscribe(\"\") asks for all messages)"
  refused(Godwit::TimeoutError, "recv #{hint}") { sub.recv(timeout: 0) }
  sub.subscribe("a", "a").unsubscribe("a")
  [sub, open_socket(:SUB, subscribe: "a").bind(endpoint_for(:inproc))].each do |subscribed|
    error = assert_raises(Godwit::TimeoutError) { subscribed.recv(timeout: 0) }
    assert_includes error.message, "(the peer may be absent"
  end
  sub.unsubscribe("a")
  refused(Godwit::TimeoutError, "recv_many #{hint}") { sub.recv_many(timeout: 0) }
end

Plain.scenario "a send that a time-out ended is not half done" do
  push = open_socket(:PUSH).bind(endpoint_for(:tcp))
  assert_equal :wait_writable, push.send_nonblock("too early", exception: false)
  3.times { assert_raises(Godwit::TimeoutError) { push.send(%w[never sent], timeout: 0.01) } }
  assert_flows(push, open_socket(:PULL).connect(push.last_endpoint))
end

Plain.each_transport "recv_nonblock raises EAGAINWaitReadable, or gives a value" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  assert_equal :wait_readable, pull.recv_nonblock(exception: false)
  error = assert_raises(Godwit::EAGAINWaitReadable) { pull.recv_nonblock }
  [IO::EAGAINWaitReadable, Godwit::WouldBlock].each { |kind| assert_kind_of kind, error }
  assert_equal [:recv_nonblock, true], [error.operation, error.retriable?]
  assert_includes error.message, "(wait with wait_readable, then try again)"
  push << "a" << %w[b c]
  assert_same pull, pull.wait_readable(5)
  assert_equal "a", pull.recv_nonblock
  assert_same pull, pull.wait_readable(5)
  assert_equal %w[b c], pull.recv_nonblock(exception: false)
end

Plain.scenario "at the high-water marks send_nonblock raises EAGAINWaitWritable" do
  pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, bind_options: {recv_hwm: 2},
    connect_options: {send_hwm: 3})
  5.times { |i| assert_same push, push.send_nonblock(i.to_s) }
  assert_equal :wait_writable, push.send_nonblock("too much", exception: false)
  error = assert_raises(Godwit::EAGAINWaitWritable) { push.send_nonblock("too much") }
  [IO::EAGAINWaitWritable, Godwit::WouldBlock].each { |kind| assert_kind_of kind, error }
  assert_equal [:send_nonblock, true], [error.operation, error.retriable?]
  assert_nil push.wait_writable(0.01)
  refute_predicate push, :writable?
  assert_raises(Godwit::TimeoutError) { push.send("too much", timeout: 0.01) }
  assert_equal %w[0 1 2 3 4], take(pull, 5)
  refute_predicate pull, :readable?
  assert_same push, push.wait_writable(5)
  assert_flows(push, pull)
end

Plain.each_transport "send_many sends all, in order, of any shape" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  messages = Array.new(50) { |i| (i % 3 == 0) ? [i.to_s, "", "x" * i] : "y" * i }
  assert_same push, push.send_many(messages)
  assert_equal messages, take(pull, 50)
  assert_same push, push.send_many([])
  assert_flows(push, pull)
end

Plain.scenario "send_many's time-out says how many went, and those arrive" do
  [0, 0.02].each do |timeout|
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, bind_options: {recv_hwm: 2},
      connect_options: {send_hwm: 3})
    error = assert_raises(Godwit::TimeoutError) do
      push.send_many(Array.new(20) { |i| i.to_s }, timeout: timeout)
    end
    assert_equal [5, :send_many], [error.sent, error.operation]
    assert_includes error.message, "(no peer took it: none is connected, or its high-water mark is"
    assert_equal %w[0 1 2 3 4], take(pull, 5)
    refute_predicate pull, :readable?
    push.wait_writable(5)
    assert_flows(push, pull)
  end
end

Plain.scenario "send_many takes an Array of messages, nothing else" do
  pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
  {"abc" => "String", nil => "NilClass", {"a" => "b"} => "Hash", 5 => "Integer"}
    .each do |what, name|
    refused(Godwit::MessageTypeError, "send_many: takes an Array of messages: got #{name}") do
      push.send_many(what)
    end
  end
  assert_flows(push, pull)
end

Plain.each_transport "recv_many returns the messages that are there" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  expected = Array.new(20) { |i| (i % 2 == 0) ? i.to_s : [i.to_s, ""] }
  push.send_many(expected)
  got = []
  while got.size < 20
    part = pull.recv_many(7, timeout: 5)
    assert_includes 1..7, part.size
    got.concat(part)
  end
  assert_equal expected, got
end

Plain.scenario "recv_many gives up to 256, and never more than 1,024" do
  pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 0, recv_hwm: 0)
  push.send_many(Array.new(4000) { |i| i.to_s })
  assert_equal [256, 1, 1024, 1024],
    [pull.recv_many, pull.recv_many(1), pull.recv_many(5000), pull.recv_many(1024)]
      .map { |part| part.size }
  assert_equal "2305", pull.recv
  {0 => "0 (Integer)", -1 => "-1 (Integer)", 1.5 => "1.5 (Float)", "7" => "\"7\" (String)",
   nil => "nil"}.each do |max, shown|
    refused(Godwit::ArgumentValueError,
      "recv_many: max takes 1 message or more: got #{shown}") { pull.recv_many(max, timeout: 0) }
  end
end

Plain.each_transport "events, readable? and writable? show what can be done" do |transport|
  router, dealer = connected_pair(:ROUTER, :DEALER, transport: transport)
  assert_equal [[:writable], true, false], [dealer.events, dealer.writable?, dealer.readable?]
  dealer << "x"
  id, = router.recv(timeout: 5)
  router << [id, "y"]
  assert_same dealer, dealer.wait_readable(5)
  assert_equal %i[readable writable], dealer.events
  dealer.recv
  assert_equal [:writable], dealer.events
  assert_equal [[], []], [open_socket(:PULL).events, open_socket(:PUSH).events]
  assert_kind_of Integer, dealer.zmq_fd
end

Plain.scenario "each may be left by break, and raises its block's error" do
  pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
  push << "1" << "2" << "3"
  pull.each { |message| break if message == "1" }
  assert_raises(ZeroDivisionError) { pull.each { 1 / 0 } }
  assert_equal ["3"], pull.first(1)
  push << "4"
  assert_same pull, pull.each { pull.close }
  assert_predicate pull, :closed?
end
