# frozen_string_literal: true

require "test_helper"

# The proxy's loop in C: in every state it obeys stop, close and kill, loses no wake-up and no
# message, and retains the objects that it uses.
class NativeProxyTest < Godwit::TestCase
  # state => block that starts a proxy and brings it to that state
  STATES = {
    "idle" => ->(test) { test.streamer.tap(&:start) },
    "paused" => ->(test) { test.streamer.tap(&:start).pause },
    "behind a back end that blocks" => ->(test) { test.blocked },
    "behind an unread capture" => ->(test) { test.captured },
    "behind a full peer of a mandatory ROUTER" => ->(test) { test.full_router },
    "under full load" => ->(test) { test.loaded }
  }.freeze

  ENDS = {
    "stop" => ->(proxy) { proxy.stop }, "close of a socket" => ->(proxy) { proxy.backend.close },
    "shutdown of the context" => ->(proxy) { proxy.frontend.context.shutdown },
    "close of the context" => ->(proxy) { Thread.new { proxy.frontend.context.close } },
    "kill of its thread" => ->(proxy) { proxy.instance_variable_get(:@thread).kill }
  }.freeze

  STATES.each_key do |state|
    ENDS.each do |name, ending|
      test "#{name} ends a proxy #{state}" do
        proxy = STATES.fetch(state).call(self)
        until_waiting(proxy) unless state == "under full load"
        assert_predicate proxy, :running?
        ending.call(proxy)
        assert_same proxy, proxy.wait(HANG)
        refute_predicate proxy, :running?
      end
    end
  end

  test "REQ and a mandatory ROUTER, all at a high-water mark of 1: no reply is lost" do
    queue = pair(:ROUTER, :DEALER, front: {mandatory: true}, send_hwm: 1, recv_hwm: 1)
    queue.start
    # The workers are DEALERs: a REP at its high-water mark drops its reply (also with zmq_proxy).
    workers = Array.new(4) { peer(:DEALER, queue.backend, send_hwm: 1, recv_hwm: 1) }
    workers.each { |worker| in_thread { worker.each { |message| worker.send(message) } } }
    clients = Array.new(20) { peer(:REQ, queue.frontend, send_hwm: 1, recv_hwm: 1) }
    replies = clients.map do |client|
      in_thread do
        Array.new(50) { |i| client.send(i.to_s, timeout: 10) && client.recv(timeout: 10) }
      end
    end
    replies.each { |thread| assert_equal Array.new(50, &:to_s), thread.value }
  end

  test "a message that found no room waits over stop and start" do
    streamer = streamer(front: {recv_hwm: 10}, send_hwm: 1).pause.start
    stuck = peer(:PULL, streamer.backend, recv_hwm: 1)
    fill(peer(:PUSH, streamer.frontend, send_hwm: 10))
    streamer.resume # more messages are queued than the back end accepts
    taken = eventually { in_hand(streamer) }
    10.times { streamer.stop.wait(5).start }
    assert_equal taken, streamer.statistics.frontend.received
    assert_equal((0...@sent).to_a, Array.new(@sent) { stuck.recv(timeout: 5).to_i })
  end

  test "an unreferenced proxy runs on, and closing its socket releases everything" do
    front, back = %i[PULL PUSH].map { |type| open_socket(type).bind(endpoint_for(:inproc)) }
    make_and_forget(front, back)
    GC.start
    peer(:PUSH, front).send("x")
    assert_equal "x", peer(:PULL, back).recv(timeout: 5)
    front.close
    assert(eventually do
      back.events
    rescue Godwit::BusyError
      nil
    end)
  end

  # Each wait of a reader of events retains the proxy's socket, and releases it afterwards.
  test "a monitor that is read neither closes a running proxy's socket nor keeps it open" do
    20.times do |i|
      streamer = pair(:PULL, :PUSH, transport: :tcp)
      names = Queue.new
      monitor = streamer.frontend.monitor
      reader = in_thread { monitor.each { |event| names << event.name } }
      until_waiting(streamer.frontend)
      streamer.start
      push = peer(:PUSH, streamer.frontend)
      assert_equal :accepted, names.pop
      push.send("x")
      assert_equal "x", peer(:PULL, streamer.backend).recv(timeout: 5)
      assert_predicate streamer, :running?
      refute_predicate streamer.frontend, :closed?
      i.even? ? streamer.frontend.close : streamer.frontend.context.close
      assert reader.join(HANG), "the reader hangs"
      streamer.wait(5)
      assert_predicate monitor, :closed?
    end
  end

  test "a wait for peers of a socket that a proxy takes raises, and the proxy runs on" do
    streamer = pair(:PULL, :PUSH, transport: :tcp)
    waiter =
      in_thread do
        assert_raises(Godwit::BusyError) { streamer.frontend.wait_connected(timeout: 5) }
      end
    until_waiting(streamer.frontend)
    streamer.start
    assert waiter.join(HANG)
    peer(:PUSH, streamer.frontend).send("x")
    assert_equal "x", peer(:PULL, streamer.backend).recv(timeout: 5)
  end

  test "steering from many threads while messages pass" do
    streamer = pair(:PULL, :PUSH).start
    push = peer(:PUSH, streamer.frontend)
    pull = peer(:PULL, streamer.backend)
    steerers =
      Array.new(3) { in_thread { 200.times { Thread.pass if streamer.pause.resume.statistics } } }
    restarter = in_thread { 100.times { streamer.stop.wait(5).start } }
    sender = in_thread { 2_000.times { |i| push.send(i.to_s) } }
    [sender, restarter, *steerers].each(&:join)
    assert_predicate streamer, :running?
    assert_equal(Array.new(2_000, &:to_s), Array.new(2_000) { pull.recv(timeout: 10) })
  end

  # ---- states ----

  def streamer(**options) = pair(:PULL, :PUSH, **options)

  def blocked
    proxy = streamer(send_hwm: 1, recv_hwm: 1).start
    push = peer(:PUSH, proxy.frontend, send_hwm: 1)
    # The peer's queue fills up to its high-water mark, since no thread reads it.
    peer(:PULL, proxy.backend, recv_hwm: 1)
    fill(push)
    proxy
  end

  def captured
    home = own(Godwit::Context.new(linger: 0))
    capture = own(Godwit::PUSH.bind(endpoint_for(:inproc), context: home))
    proxy = streamer(capture: capture).start
    peer(:PULL, proxy.backend)
    fill(peer(:PUSH, proxy.frontend, send_hwm: 1))
    proxy
  end

  def full_router
    proxy = pair(:ROUTER, :DEALER, front: {mandatory: true}, send_hwm: 1, recv_hwm: 1).start
    client = peer(:DEALER, proxy.frontend, recv_hwm: 1)
    worker = peer(:DEALER, proxy.backend, send_hwm: 1)
    other = peer(:DEALER, proxy.frontend) # this peer has room, so ZMQ_EVENTS says writable
    other.send("hi")
    worker.recv(timeout: 5)
    client.send("hi")
    id, = worker.recv(timeout: 5)
    nil while worker.send([id, "x"], timeout: 0.02, exception: false)
    proxy
  end

  def loaded
    proxy = streamer.start
    push = peer(:PUSH, proxy.frontend)
    pull = peer(:PULL, proxy.backend)
    until_closed { push.send_many(["x"] * 256) }
    until_closed { pull.recv_many }
    eventually { proxy.statistics.backend.sent > 1_000 }
    proxy
  end

  private

  # Opens both sockets in a separate context, which a test may end.
  def pair(front_type, back_type, front: {}, transport: :inproc, capture: nil, **options)
    home = capture&.context || own(Godwit::Context.new(linger: 0))
    sides = {front_type => front, back_type => {}}.map do |type, more|
      own(Godwit.const_get(type).bind(endpoint_for(transport), context: home, **options, **more))
    end
    Godwit::Proxy.new(*sides, capture: capture).tap { |proxy| (@proxies ||= []) << proxy }
  end

  def peer(type, socket, **options)
    own(Godwit.const_get(type).connect(socket.last_endpoint, context: socket.context, **options))
  end

  def make_and_forget(front, back)
    Godwit::Proxy.new(front, back).start
    nil
  end

  # @return [Integer, nil] the number of messages that the proxy has received; nil unless the proxy
  #   waits with one received message that it cannot send yet
  def in_hand(proxy)
    looks =
      Array.new(2) do
        proxy.statistics.then do |now|
          [now.frontend.received, now.backend.sent] if waiters(proxy) == 1
        end
      end
    looks[0]&.first if looks.uniq.size == 1 && looks[0]&.reduce(:-) == 1
  end

  def until_closed
    in_thread do
      loop { yield }
    rescue Godwit::ClosedError, Godwit::ContextTerminatedError
      nil
    end
  end

  # Sends until no socket accepts another message.
  def fill(push)
    @sent = 0
    @sent += 1 while push.send(@sent.to_s, timeout: 0.02, exception: false)
  end

  def before_teardown
    @proxies&.each { |proxy| proxy.stop.wait(5) }
    super
  end
end
