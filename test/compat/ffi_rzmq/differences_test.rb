# frozen_string_literal: true

require "test_helper"
require "timeout"
require "support/tls"
require "godwit/compat/ffi_rzmq"
require "ffi-rzmq"

# Differences between the gem ffi-rzmq and Godwit's layer for it; docs/ffi-rzmq.md lists them.
class FFIRzmqDifferencesTest < Godwit::TestCase
  include Godwit::TestSupport::TLS

  def old_context
    @old_context ||= ZMQ::Context.new
  end

  def teardown
    @old_context&.terminate
    super
  end

  def open_old(type, **options)
    socket = old_context.socket(type)
    {LINGER: 0, RCVTIMEO: 5000, SNDTIMEO: 5000}.merge(options).each do |name, value|
      assert_equal 0, socket.setsockopt(ZMQ.const_get(name), value), name
    end
    socket
  end

  def old_pair(one, other, transport: :inproc)
    sockets = [open_old(one), open_old(other)]
    assert_equal 0, sockets[0].bind(endpoint_for(transport))
    assert_equal 0, sockets[1].connect(sockets[0].godwit.last_endpoint)
    sockets
  end

  def errno = ZMQ::Util.errno

  # Asserts that each call returns -1 and sets this errno. A failure names the call's line.
  def assert_fails(number, *calls)
    calls.each do |call|
      Godwit::Compat::FFIRzmq::Failures.set_errno(0)
      assert_equal [-1, number], [call.call, errno], call.inspect
    end
  end

  def option(socket, name)
    assert_equal 0, socket.getsockopt(ZMQ.const_get(name), value = [])
    value.first
  end

  test "unclosed sockets do not delay terminate, and return ETERM afterwards" do
    pull = open_old(ZMQ::PULL)
    poller = ZMQ::Poller.new
    poller.register_readable(pull)
    context = @old_context
    # If terminate waited for the sockets, the clock would advance by 5 s.
    with_clock(Godwit::TestSupport::ManualClock.new(tick: 1)) do |clock|
      start = clock.now
      assert_equal 0, context.terminate
      assert_operator clock.now - start, :<, 5
    end
    assert_fails ZMQ::ETERM, -> { pull.recv_string(+"") }, -> { pull.recvmsgs([]) },
      -> { pull.setsockopt(ZMQ::LINGER, 0) }, -> { pull.getsockopt(ZMQ::LINGER, []) },
      -> { pull.bind("inproc://x") }, -> { pull.send_string("x") },
      -> { pull.send_string("x", ZMQ::DONTWAIT) }, -> { poller.poll(10) },
      -> { poller.poll(:blocking) }
    assert_equal 0, pull.close
    assert_fails ZMQ::ENOTSOCK, -> { pull.recv_string(+"") }
  end

  test "linger is without limit unless it is set, and terminate waits until all is sent" do
    context = ZMQ::Context.new
    push = context.socket(ZMQ::PUSH)
    assert_equal(-1, option(push, :LINGER))
    endpoint = endpoint_for(:ipc)
    push.connect(endpoint)
    push.send_string("kept")
    push.close
    native = context.godwit
    terminating = in_thread { context.terminate }
    await { native.closed? }
    assert_predicate terminating, :alive?
    pull = open_socket(:PULL).bind(endpoint)
    assert_equal "kept", pull.recv(timeout: 30)
    assert_equal 0, terminating.value
  end

  test "the end of the process allows sent messages 5 s, with linger without limit" do
    result = assert_child run_child(<<~RUBY, gems: true)
      require "godwit/compat/ffi_rzmq"
      require "ffi-rzmq"
      push = ZMQ::Context.new.socket(ZMQ::PUSH)
      push.connect("ipc://@godwit-nobody-\#{Process.pid}")
      push.send_string("lost")
      p push.close
    RUBY
    assert_equal "0\n", result.stdout
  end

  test "terminate closes sockets that other threads leave open, after 5 s" do
    context = ZMQ::Context.new
    go = Thread::Queue.new
    socket = nil
    in_thread { (socket = context.socket(ZMQ::PULL)) && go.pop }
    await { socket }
    native = socket.godwit
    with_clock(Godwit::TestSupport::ManualClock.new(tick: 1)) { assert_equal 0, context.terminate }
    assert_predicate native, :closed?
    assert_fails ZMQ::ETERM, -> { socket.recv_string(+"") }
    go << true
  end

  test "messages sent on an unclosed socket still go out when its context is terminated" do
    pull = open_old(ZMQ::PULL)
    pull.bind("tcp://127.0.0.1:*")
    context = ZMQ::Context.new
    push = context.socket(ZMQ::PUSH)
    push.connect(pull.godwit.last_endpoint)
    100.times { |number| push.send_string(number.to_s) }
    assert_equal 0, context.terminate
    got = Array.new(100) do
      assert_operator pull.recv_string(text = +""), :>, 0, -> { ZMQ::Util.error_string }
      text.to_i
    end
    assert_equal (0..99).to_a, got
  end

  test "more? is true only where more follows; the descriptor of a peer" do
    {inproc: ->(fd) { fd == -1 && errno == ZMQ::EINVAL }, tcp: ->(fd) { fd > 2 }}
      .each do |transport, descriptor|
        push, pull = old_pair(ZMQ::PUSH, ZMQ::PULL, transport: transport)
        push.send_strings(%w[a b])
        pull.recvmsgs(list = [])
        assert_equal [true, false], list.map(&:more?)
        assert_operator descriptor, :===, list.first.get(2), transport
      end
    refute_predicate ZMQ::Message.new("x"), :more?
  end

  test "a random tcp port" do
    socket = open_old(ZMQ::REP)
    port = ZMQ::Util.bind_to_random_tcp_port(socket: socket)
    assert_includes 10_000..65_533, port
    assert_equal "tcp://127.0.0.1:#{port}\0", option(socket, :LAST_ENDPOINT)
    with_socket = Class.new(ZMQ::Util) { define_singleton_method(:socket) { socket } }
    assert_kind_of Integer, with_socket.bind_to_random_tcp_port("127.0.0.1", 10)
    assert_nil ZMQ::Util.bind_to_random_tcp_port("192.0.2.1", 3, socket: socket)
    assert_match(
      /which socket/, assert_raises(ArgumentError) { ZMQ::Util.bind_to_random_tcp_port }.message
    )
  end

  test "deregistering an unknown socket adds nothing, and changes keep other registrations" do
    one, two = old_pair(ZMQ::PAIR, ZMQ::PAIR)
    poller = ZMQ::Poller.new
    poller.register_readable(one)
    assert_equal true, poller.deregister(one, ZMQ::POLLIN | ZMQ::POLLOUT)
    assert_equal 0, poller.size
    poller.register(one)
    poller.deregister_writable(one)
    poller.register(two, ZMQ::POLLOUT)
    poller.poll(0)
    assert_equal [[], [two]], [poller.readables, poller.writables]
  end

  test "a descriptor's number can be polled, and other objects are refused" do
    reader, writer = IO.pipe
    poller = ZMQ::Poller.new
    poller.register_readable(reader.fileno)
    assert_equal 0, poller.poll(0)
    writer.write("x")
    assert_equal 1, poller.poll(1000)
    assert_equal [reader.fileno], poller.readables
    assert_raises(TypeError) { poller.register(:nothing) }
    assert_match(/fd \[#{reader.fileno}\], events \[1\], revents \[1\]/, poller.inspect)
    poller.delete(reader.fileno)
    GC.start
    assert_equal "x", reader.read_nonblock(1) # the layer has not closed the IO
    # poll fails while a registered item is closed. deregister removes such an item.
    [IO.pipe.first, open_old(ZMQ::PAIR)].each do |closed|
      poller.register_readable(closed)
      closed.close
      assert_fails ZMQ::ENOTSOCK, -> { poller.poll(0) }
      assert_equal true, poller.deregister(closed, ZMQ::POLLIN)
    end
    assert_equal 0, poller.size
  end

  test "a poller sees the lines that a TLS connection has read ahead" do
    client, server = tls_pair
    poller = ZMQ::Poller.new
    poller.register_readable(client)
    server.write("a\nb\n")
    %W[a\n b\n].each do |line|
      assert_equal [1, [client]], [poller.poll(30_000), poller.readables]
      assert_equal line, client.gets
    end
    assert_equal [0, []], [poller.poll(0), poller.readables]
  end

  test "a poll without events lasts as long as its time-out" do
    poller = ZMQ::Poller.new
    poller.register_writable(open_old(ZMQ::PULL))
    assert_equal 0, poller.poll(0)
    start = monotonic
    assert_equal 0, poller.poll(30)
    assert_operator monotonic - start, :>=, 0.03
    assert_raises(Timeout::Error) { Timeout.timeout(0.03) { poller.poll } }
  end

  test "options that the gem does not know, and a high-water mark that comes too late" do
    router = open_old(ZMQ::ROUTER)
    keys = ZMQ::Util.curve_keypair
    {ROUTER_HANDOVER: 1, TCP_ACCEPT_FILTER: "127.0.0.1/32", IPC_FILTER_PID: Process.pid,
     HEARTBEAT_IVL: 1500, CURVE_PUBLICKEY: keys[0], CURVE_SECRETKEY: keys[1], SNDHWM: 7}
      .each { |name, value| assert_equal 0, router.setsockopt(ZMQ.const_get(name), value), name }
    assert_equal 0, router.bind("tcp://127.0.0.1:*")
    assert_equal 0, router.setsockopt(ZMQ::SNDHWM, 8)
    assert_equal [1500, *keys, 7],
      %i[HEARTBEAT_IVL CURVE_PUBLICKEY CURVE_SECRETKEY SNDHWM].map { |name| option(router, name) }
  end

  test "a value that an option does not take gives EINVAL" do
    router = open_old(ZMQ::ROUTER)
    [[ZMQ::LINGER, "x"], [ZMQ::LINGER, nil], [ZMQ::LINGER, 1 << 40], [ZMQ::MAXMSGSIZE, 1 << 70],
      [ZMQ::IDENTITY, 5], [ZMQ::IDENTITY, nil], [9999, 1], [ZMQ::FD, 1], [ZMQ::AFFINITY, -1],
      [nil, 1]].each do |name, value|
      Godwit::Compat::FFIRzmq::Failures.set_errno(0)
      assert_equal [-1, ZMQ::EINVAL], [router.setsockopt(name, value), errno], [name, value].inspect
    end
    pub = open_old(ZMQ::PUB)
    assert_fails ZMQ::EINVAL, -> { router.getsockopt(9999, []) },
      -> { pub.setsockopt(ZMQ::XPUB_MANUAL, 1) },
      -> { pub.bind(endpoint_for(:inproc)) + pub.setsockopt(ZMQ::CONFLATE, 1) }
  end

  test "a conflated PUB keeps its options" do
    pub = open_old(ZMQ::PUB, SNDHWM: 7)
    assert_equal 0, pub.setsockopt(ZMQ::CONFLATE, 1)
    assert_equal [7, 0, 1], %i[SNDHWM LINGER CONFLATE].map { |name| option(pub, name) }
    assert_equal pub.godwit.pointer, pub.socket.address
  end

  test "a topic of several bytes a character is taken whole" do
    xpub, sub = open_old(ZMQ::XPUB), open_old(ZMQ::SUB)
    xpub.bind("inproc://topic")
    sub.setsockopt(ZMQ::SUBSCRIBE, "h\u00e9")
    sub.connect("inproc://topic")
    xpub.recv_string(topic = +"")
    assert_equal "\1h\u00e9".b, topic
  end

  test "an argument that is no String or message returns -1 instead of an exception" do
    push, pull = old_pair(ZMQ::PUSH, ZMQ::PULL)
    assert_fails ZMQ::EINVAL, -> { push.send_string(5) }, -> { push.send_string(5, ZMQ::SNDMORE) },
      -> { push.send_strings(["a", 5]) }, -> { push.bind(5) }
    assert_fails ZMQ::EFAULT, -> { push.sendmsg(5) }, -> { pull.recvmsg(nil) }
    push.send_string("still")
    pull.recv_strings(list = [])
    assert_equal ["still"], list
  end

  test "a closed message fails, and crashes nothing" do
    push, pull = old_pair(ZMQ::PUSH, ZMQ::PULL)
    message = ZMQ::Message.new("x")
    message.close
    assert_fails ZMQ::EFAULT, -> { push.sendmsg(message) }, -> { push.sendmsgs([message]) },
      -> { pull.recvmsg(message) }, -> { message.copy(ZMQ::Message.new) },
      -> { message.get(ZMQ::MORE) }
    %i[size data copy_out_string].each do |method|
      assert_raises(ZMQ::MessageError, method) { message.public_send(method) }
    end
    assert_raises(IndexError) { ZMQ::Message.new.copy_in_bytes("abc", 4) }
  end

  test "a message that changes after it was made, and its parts, are sent as they were" do
    push, pull = old_pair(ZMQ::PUSH, ZMQ::PULL)
    text = +"before"
    message = ZMQ::Message.new(text)
    push.send_string(text, ZMQ::SNDMORE)
    text.replace("after!")
    push.sendmsg(message)
    pull.recv_strings(list = [])
    assert_equal %w[before before], list
  end

  test "parts wait for the last when the peer goes in between, and are sent whole" do
    push, pull = old_pair(ZMQ::PUSH, ZMQ::PULL)
    assert_equal 1, push.send_string("a", ZMQ::SNDMORE | ZMQ::DONTWAIT)
    pull.close
    eventually { option(push, :EVENTS).zero? }
    assert_fails ZMQ::EAGAIN, -> { push.send_string("b", ZMQ::DONTWAIT) }
    pull = open_old(ZMQ::PULL)
    pull.bind("inproc://again")
    push.connect("inproc://again")
    assert_equal 1, push.send_string("b")
    pull.recv_strings(list = [])
    assert_equal %w[a b], list
  end

  test "errno belongs to each thread, and error_check reports that of any call" do
    pull = open_old(ZMQ::PULL)
    pull.recv_string(+"", ZMQ::DONTWAIT)
    in_thread { pull.send_string("x") }.join
    assert_equal ZMQ::EAGAIN, errno
    assert_equal [0, "Success"], in_thread { [errno, ZMQ::Util.error_string] }.value
    error = assert_raises(ZMQ::ZeroMQError) { ZMQ::Util.error_check("zmq_bind", -1) }
    assert_equal [ZMQ::EAGAIN, -1, "zmq_bind"], [error.error_code, error.result_code, error.source]
  end

  test "a monitor's events" do
    rep = open_old(ZMQ::REP)
    assert_equal 0, LibZMQ.zmq_socket_monitor(rep.socket, "inproc://monitor", ZMQ::EVENT_ALL)
    watcher = open_old(ZMQ::PAIR)
    watcher.connect("inproc://monitor")
    rep.bind("tcp://127.0.0.1:*")
    assert_operator watcher.recvmsgs(parts = []), :>, 0
    event = LibZMQ::EventData.new(parts[0].data)
    assert_equal [ZMQ::EVENT_LISTENING, 6], [event.event, parts[0].size]
    assert_operator event.value, :>, 2
    assert_equal rep.godwit.last_endpoint, parts[1].copy_out_string
    assert_equal 0, LibZMQ.zmq_socket_monitor(rep.socket, nil, 0)
    assert_fails ZMQ::EINVAL, -> { LibZMQ.zmq_socket_monitor(rep.socket, "inproc://other", 0) }
    rep.close
    assert_fails ZMQ::ENOTSOCK, -> { LibZMQ.zmq_socket_monitor(rep.socket, "inproc://other", 1) }
  end

  test "a device refuses sockets that it cannot connect, and ends when a socket is closed" do
    rep, req = open_old(ZMQ::REP), open_old(ZMQ::REQ)
    assert_nil ZMQ::Device.create(rep, req)
    pull, push = open_old(ZMQ::PULL), open_old(ZMQ::PUSH)
    proxy = next_made(Godwit::Proxy)
    device = in_thread { ZMQ::Proxy.new(pull, push) && ZMQ::Util.errno }
    until_waiting(proxy.pop)
    eventually { pull.recv_string(+"", ZMQ::DONTWAIT) == -1 && errno == Errno::EBUSY::Errno }
    pull.close
    assert_equal ZMQ::ENOTSOCK, device.value
    assert_equal ZMQ::EFAULT, in_thread { ZMQ::Proxy.new(pull, push) && ZMQ::Util.errno }.value
    assert_fails ZMQ::EFAULT, -> { LibZMQ.zmq_proxy(nil, push.socket) }
  end
end
