# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqSocketTest < Godwit::RbczmqCase
  # Methods of open sockets that only the socket's own thread may call => their arguments.
  OWNERS = {
    :close => [], :bind => ["inproc://x"], :connect => ["inproc://x"],
    :real_bind => ["inproc://x"], :real_connect => ["inproc://x"], :unbind => ["inproc://x"],
    :disconnect => ["inproc://x"], :send => ["x"], :send_frame => [ZMQ.Frame("x")],
    :send_message => [ZMQ.Message("x")], :recv => [], :recv_nonblock => [], :recv_frame => [],
    :recv_frame_nonblock => [], :recv_message => [], :poll => [0], :rcvhwm= => [1],
    :linger= => [1], :ipv4only= => [true], :identity= => ["x"], :monitor => ["inproc://y"]
  }.freeze
  # Methods that any thread may call => their arguments.
  OTHERS = {
    :state => [], :endpoints => [], :endpoint => [], :last_endpoint => [], :fd => [], :to_i => [],
    :to_s => [], :events => [], :readable? => [], :writable? => [], :rcvmore? => [],
    :rcvhwm => [], :linger => [], :ipv4only? => [], :subscribe => [""], :unsubscribe => [""],
    :verbose= => [true]
  }.freeze

  test "classes, types and names" do
    {PUB: "Pub", SUB: "Sub", PUSH: "Push", PULL: "Pull", PAIR: "Pair", REQ: "Req", REP: "Rep",
     ROUTER: "Router", DEALER: "Dealer",
     STREAM: "Stream", XPUB: "XPub", XSUB: "XSub"}.each do |type, klass|
      socket = ctx.socket(type)
      assert_kind_of ZMQ::Socket, socket
      assert_equal [
        ZMQ::Socket.const_get(klass), ZMQ.const_get(type), type.to_s, "#{type} socket",
        !%i[PUB PUSH].include?(type), !%i[SUB PULL].include?(type)
      ],
        [
          socket.class, socket.type, socket.type_str, socket.to_s, socket.poll_readable?,
          socket.poll_writable?
        ]
    end
    {Pub: :UpstreamSocket, Push: :UpstreamSocket, Sub: :DownstreamSocket,
     Pull: :DownstreamSocket}.each do |klass, mixin|
      assert_includes ZMQ::Socket.const_get(klass), ZMQ.const_get(mixin)
    end
  end

  test "sockets come from a context only" do
    assert_raise NoMethodError, -> { ZMQ::Socket.new }, -> { ZMQ::Socket::Rep.new }
  end

  test "fd" do
    rep = ctx.socket(:REP)
    assert_equal [-1, -1], [rep.fd, rep.to_i]
    rep.bind(endpoint = "tcp://127.0.0.1:*")
    assert_operator rep.fd, :>, 2
    assert_equal rep.fd, rep.to_i
    rep.unbind(endpoint)
    assert_equal(-1, rep.fd)
  end

  test "after close no method works" do
    rep = ctx.bind(:REP, spot)
    assert_nil rep.close
    OWNERS.merge(OTHERS).each do |method, arguments|
      assert_misuse(/ZMQ::Socket instance \w* has been destroyed by the ZMQ framework/) do
        rep.__send__(method, *arguments)
      end
    end
    refute OWNERS[:send_frame].first.gone?
    assert_match(/closed/, rep.inspect)
  end

  test "another thread may not use it" do
    rep, req = pair(:REP, :REQ)
    OWNERS.each do |method, arguments|
      assert_misuse(/\ACross thread violation for REQ socket/) do
        elsewhere { req.__send__(method, *arguments) }
      end
    end
    assert_misuse(/\ACross thread violation/) { elsewhere { ZMQ::Pollitem.new(req) } }
    assert_equal [true, "still mine"], [req.send("still mine"), rep.recv]
  end

  test "verbose" do
    a = ctx.socket(:PAIR)
    b = ctx.socket(:PAIR)
    out = printed do
      assert_equal true, (a.verbose = true)
      a.bind(endpoint = spot)
      a.sndhwm = 7
      b.connect(endpoint)
      a.send("ping")
      a.sendm("more")
      a.send_frame(ZMQ::Frame("a frame"))
      a.send_message(ZMQ::Message("x", "y"))
      b.send("back")
      a.recv
    end
    %w[bound sndhwm ping more frame send_message recv back].each do |word|
      assert_includes out, word
    end
    assert_match(/\A\d\d-\d\d-\d\d \d\d:\d\d:\d\d I: PAIR socket/, out)
    assert_empty(printed do
      a.verbose = false
      a.send("quiet")
    end)
    assert_equal %w[ping more], [b.recv, b.recv]
  end

  test "handle_fsm_errors" do
    base = Class.new(ZMQ::Socket) do
      def out_of_turn = raise(SystemCallError.new(nil, ZMQ::EFSM))

      def broken = raise(Errno::EINVAL)
    end
    klass = Class.new(base) { handle_fsm_errors "not your turn", :out_of_turn, :broken }
    socket = klass.allocate
    assert_misuse(/\Anot your turn/) { socket.out_of_turn }
    assert_raises(Errno::EINVAL) { socket.broken }
  end

  test "methods that a type does not have" do
    receive = %i[recv recv_nonblock recv_frame recv_frame_nonblock recv_message]
    send = %i[send sendm send_frame send_message]
    {PUB: receive, PUSH: receive, SUB: send, PULL: send,
     REQ: %i[sendm], REP: %i[sendm]}.each do |type, methods|
      socket = ctx.socket(type)
      methods.each do |method|
        assert_misuse(/\AAPI #{method} not supported for #{type} sockets!/) do
          socket.__send__(method, "x")
        end
      end
    end
  end

  test "PAIR is for inproc" do
    pair = ctx.socket(:PAIR)
    assert_misuse(/inproc/, -> { pair.bind("tcp://127.0.0.1:*") },
      -> { pair.connect("tcp://127.0.0.1:5555") })
    assert_equal ZMQ::Socket::PENDING, pair.state
    assert_equal 0, pair.bind(spot)
  end

  test "unreferenced objects are collected, and the collection does not wait" do
    endpoint = spot
    pull = ctx.bind(:PULL, endpoint)
    20.times { ctx.connect(:PUSH, endpoint).send("from one that is forgotten") }
    GC.start
    assert_equal ["from one that is forgotten"], Array.new(20) { pull.recv }.uniq
  end
end
