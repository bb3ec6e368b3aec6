# frozen_string_literal: true

# libzmq: test_proxy, test_proxy_hwm, test_proxy_single_socket, test_proxy_terminate
# libzmq: test_reqrep_device

require "support/tiny_scheduler"
require_relative "case"

# Messages that a proxy forwards, methods that control it, and calls that its sockets refuse.
class ProxyTest < Conformance::Case
  # A proxy between two bound sockets of the test's context. The end of the test stops the proxy.
  def proxy(front, back, capture: nil, transport: :inproc, **options)
    sockets =
      [front, back].map { |type| open_socket(type, **options).bind(endpoint_for(transport)) }
    @proxies = [*@proxies, Godwit::Proxy.new(*sockets, capture: capture)]
    @proxies.last
  end

  def peer(type, socket, **options) = open_socket(type, **options).connect(socket.last_endpoint)

  # @return [Array] a proxy from PULL to PUSH, a PUSH that sends to it, a PULL that receives from it
  def stream(**options)
    streamer = proxy(:PULL, :PUSH, **options)
    [streamer, peer(:PUSH, streamer.frontend, **options), peer(:PULL, streamer.backend, **options)]
  end

  def stopped(proxy) = proxy.stop.wait(5) || flunk("the proxy did not end")

  def teardown
    (@proxies || []).each(&:stop)
    (@proxies || []).each { |one| one.wait(5) }
    super
  end

  each_transport "a queue carries requests and replies" do |transport|
    queue = proxy(:ROUTER, :DEALER, transport: transport).start
    rep = peer(:REP, queue.backend)
    in_thread { rep.serve { |message| message.is_a?(Array) ? message.reverse : message.upcase } }
    req = peer(:REQ, queue.frontend)
    assert_equal "HELLO", req.request("hello", timeout: 5)
    assert_equal %w[c b a], req.request(%w[a b c], timeout: 5)
    stopped(queue)
    statistics = queue.statistics
    assert_equal [2, 2, 2, 2],
      [
        statistics.frontend.received, statistics.frontend.sent,
        statistics.backend.received, statistics.backend.sent
      ]
    assert_equal statistics.frontend.received_bytes, statistics.backend.sent_bytes
    assert statistics.frozen? && statistics.frontend.frozen?
  end

  test "a poller leaves a socket alone that a proxy has, and sees it again afterwards" do
    streamer, push, pull = stream
    poller = open_poller(streamer.frontend)
    streamer.start
    assert_flows(push, pull)
    assert_empty poller.wait(0)
    waiting = waiting_on(poller) { poller.wait(5).map(&:object) }
    stopped(streamer)
    push.send("by hand")
    assert_equal [streamer.frontend], waiting.value
    assert_equal "by hand", streamer.frontend.recv(timeout: 5)
  end

  test "earlier messages, more than one round forwards, pass without another event to wake the " \
    "proxy" do
    streamer, push, pull = stream(send_hwm: 0, recv_hwm: 0)
    streamer.pause.start
    push.send_many(Array.new(5_000, &:to_s))
    streamer.resume
    assert_equal Array.new(5_000, &:to_s), take(pull, 5_000)
  end

  test "capture gets a copy of each message, in both directions" do
    capture = open_socket(:PUSH).bind(endpoint_for(:inproc))
    queue = proxy(:PAIR, :PAIR, capture: capture).start
    copies = peer(:PULL, capture)
    front, back = peer(:PAIR, queue.frontend), peer(:PAIR, queue.backend)
    there = ["there", "x" * 10_000]
    assert_flows(front, back, there)
    assert_flows(back, front, "back")
    assert_equal [there, "back"], take(copies, 2)
    assert_equal 2, stopped(queue).statistics.capture.sent
  end

  test "an unread capture holds the messages back, and loses none" do
    capture = open_socket(:PUSH, send_hwm: 1).bind(endpoint_for(:inproc))
    streamer = proxy(:PULL, :PUSH, capture: capture).start
    pull = peer(:PULL, streamer.backend)
    peer(:PUSH, streamer.frontend).send_many(Array.new(100, &:to_s))
    assert_nil pull.recv(timeout: 0.05, exception: false)
    assert_operator streamer.statistics.backend.sent, :==, 0
    stopped(streamer).start # the proxy retains a message that it could not send
    copies = peer(:PULL, capture)
    [pull, copies].each { |receiver| assert_equal Array.new(100, &:to_s), take(receiver, 100) }
  end

  test "a back end without room holds the senders back" do
    streamer = proxy(:PULL, :PUSH, send_hwm: 10, recv_hwm: 10).start
    push = peer(:PUSH, streamer.frontend, send_hwm: 10)
    sent = 0
    sent += 1 until push.send(sent.to_s, timeout: 0.1, exception: false).nil?
    assert_operator sent, :<, 60
    assert_equal 0, streamer.statistics.frontend.received # the proxy receives only what it can send
    pull = peer(:PULL, streamer.backend, recv_hwm: 10)
    assert_equal Array.new(sent, &:to_s), take(pull, sent)
  end

  test "paused, a proxy takes nothing; resumed, it forwards again" do
    streamer, push, pull = stream
    assert_predicate streamer.pause.start, :paused?
    push.send("a")
    assert_nil pull.recv(timeout: 0.05, exception: false)
    assert_equal 0, streamer.statistics.frontend.received
    streamer.resume
    refute_predicate streamer, :paused?
    assert_equal "a", pull.recv(timeout: 5)
    streamer.pause
    push.send("b").send("c")
    pull.wait_readable(0.05)
    stopped(streamer) # a paused proxy can be stopped
    passed = pull.recv_many(3, timeout: 0, exception: false) || []
    assert_includes [[], ["b"]], passed # the proxy may have dequeued one message before the pause
    assert_equal 1 + passed.size, streamer.statistics.frontend.received
  end

  test "while it runs its sockets refuse other use, and name the fix; afterwards they are as " \
    "before" do
    streamer = proxy(:PULL, :PUSH).start
    front = streamer.frontend
    [
      -> { front.recv }, -> { front.recv_nonblock }, -> { front.recv_many },
      -> { front.bind("inproc://other") }, -> { front.linger }, -> { front.linger = 1 },
      -> { front.events }, -> { front.zmq_fd }, -> { front.wait_readable(0) },
      -> { streamer.backend.send("x") }, -> { streamer.backend << "x" },
      -> { Godwit::Proxy.new(front, streamer.backend) }
    ].each { |use| assert_named(Godwit::BusyError, /stop the proxy first/, &use) }
    refute_predicate front, :closed?
    assert_match(/PULL bound to/, front.inspect)
    assert_equal 1, front.endpoints.size
    stopped(streamer)
    assert_flows(peer(:PUSH, front), front)
  end

  test "a socket with a waiter is not acquired, and none of the others is then" do
    streamer = proxy(:PULL, :PUSH)
    begun = Queue.new
    waiter = in_thread { (begun << true) && streamer.frontend.recv }
    begun.pop
    until_waiting(streamer.frontend)
    assert_raises(Godwit::BusyError) { streamer.start }
    assert_empty streamer.backend.events
    peer(:PUSH, streamer.frontend).send("x")
    assert_equal "x", waiter.value
    assert_predicate streamer.start, :running?
  end

  test "it runs once at a time, and as often as wanted" do
    streamer, push, pull = stream
    streamer.start
    assert_raises(Godwit::StateError) { streamer.start }
    assert_raises(Godwit::StateError) { streamer.run }
    assert_predicate streamer, :running?
    20.times do |i|
      assert_flows(push, pull, i.to_s)
      stopped(streamer)
      refute_predicate streamer, :running?
      streamer.start
    end
    stopped(streamer)
    thread = in_thread { streamer.run }
    assert_flows(push, pull, "abc")
    streamer.terminate
    assert_equal 33, thread.value.backend.sent_bytes # the total of all runs
  end

  test "run lets other fibers run, and ends in a fiber" do
    not_on :ffi, "a wait there holds its thread"
    streamer, push, pull = stream
    got = statistics = nil
    Godwit::TestSupport::TinyScheduler.thread do
      Fiber.schedule { statistics = streamer.run }
      Fiber.schedule do
        push.send("x")
        got = pull.recv(timeout: 5)
        streamer.stop
      end
    end.join
    assert_equal "x", got
    assert_equal 1, statistics.backend.sent
    refute_predicate streamer, :running?
  end

  test "the three constructors make, bind and own their sockets" do
    {queue: [:ROUTER, :DEALER], forwarder: [:XSUB, :XPUB],
     streamer: [:PULL, :PUSH]}.each do |name, types|
      kept = Godwit::Proxy.public_send(name, "tcp://127.0.0.1:*", [endpoint_for(:inproc),
        endpoint_for(:ipc)],
        capture: endpoint_for(:inproc), context: context, send_hwm: 7) do |one|
        assert_predicate one, :running?
        assert_equal types, [one.frontend.type, one.backend.type]
        assert_equal [1, 2, :PUB],
          [one.frontend.endpoints.size, one.backend.endpoints.size, one.capture.type]
        one
      end
      assert [kept.frontend, kept.backend, kept.capture].all?(&:closed?), name
      refute_predicate kept, :running?
      assert_raises(Godwit::ClosedError, name) { kept.start }
    end
  end

  test "a constructor takes the caller's sockets, which stay the caller's; a failing one leaves " \
    "none open" do
    mine = open_socket(:PULL).bind(endpoint_for(:inproc))
    one = Godwit::Proxy.streamer(mine, endpoint_for(:inproc), context: context)
    refute_predicate one, :running?
    one.close
    one.close
    assert_equal [false, true], [mine.closed?, one.backend.closed?]
    assert_raises(Godwit::EndpointError) do
      Godwit::Proxy.queue(endpoint_for(:inproc), "nonsense", context: context)
    end
  end

  test "impossible combinations are refused, and the message names possible ones" do
    push, pull, sub, rep, dealer, router, req =
      %i[PUSH PULL SUB REP DEALER ROUTER REQ].map { |type| open_socket(type) }
    make = Godwit::Proxy.method(:new)
    value, type = Godwit::ArgumentValueError, Godwit::ArgumentTypeError
    assert_mistakes(
      -> { make.call(rep, dealer) } => [value, /take a ROUTER/],
      -> { make.call(router, req) } => [value, /take a DEALER/],
      -> { make.call(req, req) } => [value, //],
      -> { make.call(pull, sub) } => [value, /backend/],
      -> { make.call(push, push) } => [value, /backend/],
      -> { make.call(pull, "push") } => [type, //],
      -> { make.call(pull, push, capture: 1) } => [type, //],
      -> { make.call(pull, push, capture: sub) } => [value, //],
      -> { make.call(pull, push, capture: push) } => [value, //],
      -> { make.call(pull, push).wait("x") } => [type, //],
      -> { make.call(pull, push).dup } => [Godwit::UnsupportedError, //]
    )
  end

  test "a reply to a peer that is gone does not end a queue whose ROUTER is mandatory" do
    router = open_socket(:ROUTER, mandatory: true).bind(endpoint_for(:inproc))
    dealer = open_socket(:DEALER).bind(endpoint_for(:inproc))
    (@proxies = [queue = Godwit::Proxy.new(router, dealer)]).first.start
    worker = peer(:DEALER, dealer)
    client = peer(:DEALER, router)
    client.send("hi")
    id, = worker.recv(timeout: 5)
    worker.send(["nobody", "lost"])
    eventually { queue.statistics.dropped == 1 }
    worker.send([id, "found"])
    assert_equal "found", client.recv(timeout: 5)
  end

  each_transport("one REP on both sides echoes") do |transport|
    rep, req = connected_pair(:REP, :REQ, transport: transport)
    proxy = own(Godwit::Proxy.new(rep, rep)).start
    ["one", %w[two parts], ""].each do |message|
      assert_flows(req, req, message)
    end
    proxy.close
    assert_flows(req, rep, "mine again")
  end
end
