# frozen_string_literal: true

# libzmq: test_router_mandatory

require "test_helper"
require_relative "assertions"

# Sockets used wrongly: each error names the mistake and the fix, and costs neither the socket nor a
# message.
class MisuseTest < Godwit::TestCase
  include Conformance::Assertions

  under_gc_stress

  test "send_many on a REQ: the first message goes, the second is out of turn" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    error =
      assert_named(Godwit::StateError, /receive the reply/) { req.send_many(%w[first second]) }
    assert_equal 1, error.sent
    assert_equal "first", rep.recv(timeout: 5)
    rep << "reply"
    assert_equal "reply", req.recv(timeout: 5)
  end

  each_transport("a REQ that receives before it sends, a REP that sends before it " \
    "receives") do |transport|
    rep, req = connected_pair(:REP, :REQ, transport: transport)
    [-> { req.recv }, -> { req.recv(timeout: 1) }, -> { req.recv_nonblock }, -> { req.recv_many },
      -> { req.recv_into(+"") }].each do |call|
      assert_named(Godwit::StateError, /a REQ sends and receives in turn/, &call)
    end
    [-> { rep << "x" }, -> { rep.send_nonblock("x") }].each do |call|
      assert_named(Godwit::StateError, /receive a request first, then send its reply/, &call)
    end
    req << "question"
    assert_equal "question", rep.recv(timeout: 5)
    assert_named(Godwit::StateError, /a REP receives and sends in turn/) { rep.recv(timeout: 1) }
    rep << "answer"
    assert_equal "answer", req.recv(timeout: 5)
  end

  SENDS = {
    :send => ->(socket) { socket.send("x") }, :<< => ->(socket) { socket << "x" },
    :keywords => ->(socket) { socket.send("x", timeout: 1) },
    :send_nonblock => ->(socket) { socket.send_nonblock("x", exception: false) },
    :send_many => ->(socket) { socket.send_many(["x"]) }
  }.freeze
  RECEIVES = {
    recv: ->(socket) { socket.recv }, keywords: ->(socket) { socket.recv(timeout: 1) },
    recv_many: ->(socket) { socket.recv_many },
    recv_nonblock: ->(socket) { socket.recv_nonblock(exception: false) },
    recv_multipart: ->(socket) { socket.recv_multipart },
    recv_into: ->(socket) { socket.recv_into(+"") }, recv_string: ->(socket) { socket.recv_string },
    each: ->(socket) { socket.each { flunk } }
  }.freeze

  {SUB: :PUB, PULL: :PUSH}.each do |type, peer|
    test "sending on a #{type}" do
      sender, receiver = connected_pair(peer, type, transport: :inproc)
      receiver.subscribe("") && sender.wait_connected(timeout: 5) if type == :SUB
      sender << "before"
      SENDS.each_value do |call|
        error =
          assert_named(Godwit::UnsupportedError, /a #{type} only receives/) { call.call(receiver) }
        assert_kind_of Errno::EOPNOTSUPP, error
        assert_match(/\Asend/, error.operation.to_s)
      end
      assert_equal "before", receiver.recv(timeout: 5)
      assert_flows(sender, receiver)
    end
  end

  {PUB: :SUB, PUSH: :PULL}.each do |type, peer|
    test "receiving on a #{type}" do
      sender, receiver = connected_pair(type, peer, transport: :inproc)
      receiver.subscribe("") && sender.wait_connected(timeout: 5) if type == :PUB
      sender << "before"
      RECEIVES.each_value do |call|
        error = assert_named(Godwit::UnsupportedError, /a #{type} only sends/) { call.call(sender) }
        assert_match(/\Arecv/, error.operation.to_s)
      end
      assert_equal "before", receiver.recv(timeout: 5)
      assert_flows(sender, receiver)
    end
  end

  each_transport("a mandatory ROUTER to an unknown peer, and to a peer that has " \
    "gone") do |transport|
    router, dealer =
      connected_pair(
        :ROUTER,
        :DEALER,
        transport: transport,
        bind_options: {
          mandatory: true
        },
        connect_options: {
          routing_id: "peer"
        }
      )
    dealer << "before"
    error =
      assert_named(Godwit::UnreachableError, /no such peer|routing id of the first frame/) do
        router << %w[nobody x]
      end
    assert_kind_of Errno::EHOSTUNREACH, error
    assert_predicate error, :retriable?
    assert_equal ["peer", "before"], router.recv(timeout: 5)
    router << ["peer", "hello"]
    assert_equal "hello", dealer.recv(timeout: 5)
    dealer.close
    assert_raises(Godwit::UnreachableError) do
      loop { router.send(%w[peer gone?], timeout: 5) && Thread.pass }
    end
    batch = assert_raises(Godwit::UnreachableError) { router.send_many([["nobody", "x"]]) }
    assert_equal 0, batch.sent
    other = open_socket(:DEALER, routing_id: "other").connect(router.last_endpoint)
    other << "here"
    assert_equal ["other", "here"], router.recv(timeout: 5)
    router << ["other", "welcome"]
    assert_equal "welcome", other.recv(timeout: 5)
  end

  test "an option out of range, of the wrong type, unknown" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push << "before"
    {send_hwm: [-1, 2**31, "many", 1.5, nil], linger: [-1, Float::NAN, "5"],
     immediate: [1, nil, "yes"]}.each do |name, values|
      before = push.get(name)
      values.each do |value|
        next if value.nil? && name == :linger
        error = assert_named(Godwit::OptionError, /#{name}.*takes/) { push.set(name, value) }
        assert_kind_of ArgumentError, error
      end
      assert_equal before, push.get(name)
    end
    assert_named(Godwit::OptionError, /did you mean send_hwm/) { push.set(:send_hmw, 1) }
    assert_equal "before", pull.recv(timeout: 5)
    assert_flows(push, pull)
  end

  USES = {
    send: ->(s) { s.send("x") }, "<<": ->(s) { s << "x" },
    send_keywords: ->(s) { s.send("x", timeout: 1) }, send_nonblock: ->(s) { s.send_nonblock("x") },
    send_many: ->(s) { s.send_many(["x"]) }, recv: ->(s) { s.recv },
    recv_keywords: ->(s) { s.recv(timeout: 1) }, recv_nonblock: ->(s) { s.recv_nonblock },
    recv_many: ->(s) { s.recv_many }, recv_into: ->(s) { s.recv_into(+"") },
    recv_multipart: ->(s) { s.recv_multipart }, recv_string: ->(s) { s.recv_string },
    bind: ->(s) { s.bind("inproc://x") }, connect: ->(s) { s.connect("inproc://x") },
    unbind: ->(s) { s.unbind("inproc://x") },
    disconnect: ->(s) { s.disconnect("inproc://x") }, wait_readable: ->(s) { s.wait_readable },
    wait_writable: ->(s) { s.wait_writable(1) },
    events: ->(s) { s.events }, readable: ->(s) { s.readable? }, writable: ->(s) { s.writable? },
    get: ->(s) { s.send_hwm }, set: ->(s) { s.send_hwm = 1 },
    zmq_fd: ->(s) { s.zmq_fd }, pointer: ->(s) { s.pointer }, encoding: ->(s) { s.encoding },
    encoding_set: ->(s) { s.encoding = "UTF-8" }, wait_connected: ->(s) { s.wait_connected }
  }.freeze

  test "use after close: every call raises" do
    socket = open_socket(:DEALER).bind(endpoint_for(:inproc))
    socket.close
    USES.each do |name, call|
      error = assert_raises(Godwit::ClosedError, name.to_s) { call.call(socket) }
      assert_kind_of IOError, error
      assert_kind_of Godwit::Error, error
      assert_match(/Closed \(open a new one\)/, error.message, name.to_s)
    end
    assert_same socket, socket.each { flunk }
    assert_equal [true, :DEALER, context], [socket.closed?, socket.type, socket.context]
  end

  test "only a REP, ROUTER or SERVER binds the endpoint of a ZAP handler" do
    pull = open_socket(:PULL)
    assert_named(Godwit::EndpointError, /a ZAP handler is a REP, ROUTER or SERVER/) do
      pull.bind("inproc://zeromq.zap.01")
    end
    open_socket(:REP).bind("inproc://zeromq.zap.01")
  end

  test "a PLAIN server that enforces a domain needs a domain" do
    rep = open_socket(:REP, plain_server: true, zap_enforce_domain: true)
    assert_named(Godwit::OptionError, /zap_domain: "name"/) { rep.bind("tcp://127.0.0.1:*") }
    assert_named(Godwit::OptionError, /zap_domain: "name"/) { rep.connect("tcp://127.0.0.1:5555") }
    rep.zap_domain = "global"
    rep.bind("tcp://127.0.0.1:*")
  end

  test "a SUB without a subscription reports that when time is up" do
    pub = open_socket(:PUB).bind(endpoint_for(:inproc))
    sub = open_socket(:SUB).connect(pub.last_endpoint)
    hint = /receives nothing before it subscribes: subscribe\(""\)/
    assert_named(Godwit::TimeoutError, hint) { sub.recv(timeout: 0.01) }
    sub.subscribe("a", "a")
    sub.unsubscribe("a")
    assert_named(Godwit::TimeoutError, /the peer may be absent/) { sub.recv(timeout: 0.01) }
    sub.unsubscribe("a")
    assert_named(Godwit::TimeoutError, hint) { sub.recv_many(timeout: 0.01) }
    chosen = open_socket(:SUB, subscribe: "a").connect(pub.last_endpoint)
    assert_named(Godwit::TimeoutError, /the peer may be absent/) { chosen.recv(timeout: 0.01) }
  end

  test "a PUB says that it waits for subscriptions" do
    pub = open_socket(:PUB).bind(endpoint_for(:inproc))
    assert_named(Godwit::TimeoutError, /a PUB waits for subscriptions, and 0 of 2 have come/) do
      pub.wait_connected(count: 2, timeout: 0.01)
    end
  end
end
