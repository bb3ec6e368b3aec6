# frozen_string_literal: true

require_relative "case"

class WaitConnectedTest < Conformance::Case
  # Types that count their peers without an option => the type of the peer.
  COUNTING = {PUSH: :PULL, PULL: :PUSH, SUB: :PUB, XPUB: :XSUB, XSUB: :XPUB}.freeze
  OPTIONAL = {
    REQ: :REP, REP: :REQ, DEALER: :ROUTER, ROUTER: :DEALER, PAIR: :PAIR, STREAM: :STREAM
  }.freeze

  {**COUNTING, **OPTIONAL}.each do |type, peer|
    options = OPTIONAL.key?(type) ? {count_peers: true} : {}

    test "#{type} waits for a peer, bound or connected, and counts" do
      bound = open_socket(type, **options).bind(endpoint_for(:tcp))
      waiting = waiting_on(bound) { bound.wait_connected(timeout: 5) }
      open_socket(peer).connect(bound.last_endpoint)
      assert_same bound, waiting.value

      other = open_socket(peer).bind(endpoint_for(:tcp))
      connected = open_socket(type, **options).connect(other.last_endpoint)
      assert_same connected, connected.wait_connected(timeout: 5)
      next if type == :PAIR

      open_socket(peer).connect(bound.last_endpoint)
      bound.wait_connected(count: 2, timeout: 5)
      error = assert_named(Godwit::TimeoutError,
        /2 of 3 peers are connected/, operation: :wait_connected) do
        bound.wait_connected(count: 3, timeout: 0.05)
      end
      assert_equal bound.last_endpoint, error.endpoint
    end
  end

  each_transport("a PUB counts subscriptions, with and without messages in between") do |transport|
    pub = open_socket(:PUB).bind(endpoint_for(transport))
    pub << "nobody hears this"
    error = assert_named(Godwit::TimeoutError, /0 of 1/) { pub.wait_connected(timeout: 0.02) }
    assert_equal pub.last_endpoint, error.endpoint
    subs = Array.new(3) { open_socket(:SUB, subscribe: "").connect(pub.last_endpoint) }
    pub.wait_connected(count: 3, timeout: 5)
    pub << "all hear this"
    subs.each { |sub| assert_equal "all hear this", sub.recv(timeout: 5) }
    waiting = waiting_on(pub) { pub.wait_connected(count: 4) }
    pub << "while it waits"
    open_socket(:SUB, subscribe: "").connect(pub.last_endpoint)
    assert_same pub, waiting.value
  end

  each_transport("a PUB forgets subscribers that go and topics that are taken back") do |transport|
    pub = open_socket(:PUB).bind(endpoint_for(transport))
    leaving, staying =
      Array.new(2) { open_socket(:SUB, subscribe: %w[a b]).connect(pub.last_endpoint) }
    pub.wait_connected(count: 4, timeout: 5)
    leaving.close
    assert(eventually { counted(pub, 4) == 2 })
    staying.unsubscribe("a")
    assert(eventually { counted(pub, 4) == 1 })
  end

  # @return [Integer] the number of peers in the message of wait_connected's time-out
  def counted(socket, most)
    socket.wait_connected(count: most, timeout: 0)
    most
  rescue Godwit::TimeoutError => error
    error.message[/(\d+) of #{most}/, 1].to_i
  end

  test "a peer that leaves counts no longer" do
    push = open_socket(:PUSH).bind(endpoint_for(:ipc))
    pulls = Array.new(2) { open_socket(:PULL).connect(push.last_endpoint) }
    push.wait_connected(count: 2, timeout: 5)
    pulls.first.close
    assert(eventually { counted(push, 2) == 1 })
    open_socket(:PULL).connect(push.last_endpoint)
    assert_same push, push.wait_connected(count: 2, timeout: 5)
  end

  test "strangers that connect and disconnect count in neither direction" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    strangers = ["", "\xff".b, "GET / HTTP/1.0\r\n\r\n",
      "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0PLAIN".b.ljust(64, "\0")].map do |words|
      TCPSocket.open("127.0.0.1", push.port) { |peer| peer.write(words) }
    end
    open_socket(:PULL).connect(push.last_endpoint)
    assert_same push, push.wait_connected(timeout: 5)
    strangers.size.times { TCPSocket.open("127.0.0.1", push.port) { |peer| peer.write("\xff".b) } }
    open_socket(:PULL).connect(push.last_endpoint)
    assert_same push, push.wait_connected(count: 2, timeout: 5)
    assert_equal 2, counted(push, 3)
  end

  test "peers whose keys are refused count in neither direction" do
    keys, own_keys = Godwit::Curve.keypair, Godwit::Curve.keypair
    push = open_socket(:PUSH, curve: keys).bind(endpoint_for(:tcp))
    good = {curve: own_keys, server_key: keys.public_key}
    open_socket(:PULL, **good).connect(push.last_endpoint)
    push.wait_connected(timeout: 5)
    [{}, {curve: own_keys, server_key: own_keys.public_key}, {plain: %w[user secret]}].each do |bad|
      open_socket(:PULL, reconnect_interval: 0.01, **bad).connect(push.last_endpoint)
    end
    2.times do |i|
      open_socket(:PULL, **good).connect(push.last_endpoint) &&
        push.wait_connected(count: 2 + i, timeout: 5)
    end
    assert_raises(Godwit::TimeoutError) { push.wait_connected(count: 4, timeout: 0.3) }
    assert_equal 3, counted(push, 4)
  end

  test "libzmq reports no inproc peers: there wait_connected raises instead of waiting for ever" do
    push, pull = connected_pair(:PUSH, :PULL, transport: :inproc)
    [push, pull].each do |socket|
      assert_named(Godwit::UnsupportedError, /inproc/) { socket.wait_connected(timeout: 5) }
    end
    assert_flows(push, pull)
  end

  test "after the first message, and without count_peers, wait_connected raises with the fix" do
    pull, push = connected_pair(:PULL, :PUSH)
    push.wait_connected(timeout: 5)
    assert_flows(push, pull)
    [push, pull].each do |socket|
      assert_named(Godwit::StateError, /before any send or recv/, operation: :wait_connected) do
        socket.wait_connected(timeout: 5)
      end
    end
    dealer = open_socket(:DEALER).bind(endpoint_for(:tcp))
    assert_named(Godwit::StateError, /a DEALER counts with count_peers: true/) do
      dealer.wait_connected(timeout: 5)
    end
    assert_named(Godwit::StateError, /peers are counted/) do
      open_socket(:PUSH, count_peers: false).bind(endpoint_for(:tcp)).wait_connected
    end
    assert_flows(push, pull)
  end

  test "a count is a number of 1 or more, a timeout seconds" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    [0, -1, 1.5, "1", nil].each do |count|
      says = /wait_connected: count: takes a number of peers, 1 or more: got #{count.inspect}/
      assert_named(Godwit::ArgumentValueError, says) { push.wait_connected(count: count) }
    end
    assert_raises(TypeError) { push.wait_connected(timeout: "1") }
  end

  test "several threads may wait at once" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    threads = Array.new(4) { |i| in_thread { push.wait_connected(count: i % 2 + 1, timeout: 5) } }
    until_waiting(push, 4)
    2.times { open_socket(:PULL).connect(push.last_endpoint) }
    threads.each { |thread| assert_same push, thread.value }
  end

  # wait_connected reads the PUB's subscriptions, which consumes the sender's edge of ZMQ_FD.
  each_transport "a PUB that drops nothing sends on while another thread counts its " \
    "peers" do |transport|
    pub = open_socket(:PUB, xpub_no_drop: true, send_hwm: 1).bind(endpoint_for(transport))
    sub = open_socket(:SUB, recv_hwm: 1, subscribe: "").connect(pub.last_endpoint)
    pub.wait_connected(timeout: HANG)
    waiting_on(pub) { pub.wait_connected(count: 1000) }
    in_thread { 300.times { |number| pub.send(number.to_s) } }
    assert_equal (0...300).map(&:to_s), Array.new(300) { sub.recv(timeout: HANG) }
  end
end
