# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqSocketTest < Godwit::RbczmqCase
  under_gc_stress

  GONE = /ZMQ::Socket instance \w* has been destroyed by the ZMQ framework/

  test "classes, types and names" do
    {PUB: "Pub", SUB: "Sub", PUSH: "Push", PULL: "Pull", PAIR: "Pair", REQ: "Req", REP: "Rep",
     ROUTER: "Router", DEALER: "Dealer",
     STREAM: "Stream", XPUB: "XPub", XSUB: "XSub"}.each do |type, klass|
      socket = ctx.socket(type)
      assert_instance_of ZMQ::Socket.const_get(klass), socket
      assert_kind_of ZMQ::Socket, socket
      assert_equal ZMQ.const_get(type), socket.type
      assert_equal type.to_s, socket.type_str
      assert_equal "#{type} socket", socket.to_s
      assert_equal !%i[PUB PUSH].include?(type), socket.poll_readable?
      assert_equal !%i[SUB PULL].include?(type), socket.poll_writable?
    end
    assert_includes ZMQ::Socket::Pub, ZMQ::UpstreamSocket
    assert_includes ZMQ::Socket::Push, ZMQ::UpstreamSocket
    assert_includes ZMQ::Socket::Sub, ZMQ::DownstreamSocket
    assert_includes ZMQ::Socket::Pull, ZMQ::DownstreamSocket
  end

  test "sockets come from a context only" do
    assert_raises(NoMethodError) { ZMQ::Socket.new }
    assert_raises(NoMethodError) { ZMQ::Socket::Rep.new }
  end

  test "states" do
    assert_equal [1, 2, 4, 8],
      [ZMQ::Socket::PENDING, ZMQ::Socket::BOUND, ZMQ::Socket::CONNECTED, ZMQ::Socket::DISCONNECTED]
    rep = ctx.socket(:REP)
    assert_equal ZMQ::Socket::PENDING, rep.state
    rep.bind(endpoint = spot)
    assert_equal ZMQ::Socket::BOUND, rep.state
    req = ctx.socket(:REQ)
    req.connect(endpoint)
    assert_equal ZMQ::Socket::CONNECTED, req.state
  end

  test "fd" do
    rep = ctx.socket(:REP)
    assert_equal(-1, rep.fd)
    assert_equal(-1, rep.to_i)
    rep.bind(endpoint = "tcp://127.0.0.1:*")
    assert_operator rep.fd, :>, 2
    assert_equal rep.fd, rep.to_i
    rep.unbind(endpoint)
    assert_equal(-1, rep.fd)
  end

  test "to_s" do
    rep = ctx.socket(:REP)
    port = rep.bind("tcp://127.0.0.1:*")
    req = ctx.socket(:REQ)
    req.connect("tcp://127.0.0.1:#{port}")
    assert_equal "REP socket bound to tcp://127.0.0.1:#{port}", rep.to_s
    assert_equal "REQ socket connected to tcp://127.0.0.1:#{port}", req.to_s
    other = rep.bind("tcp://127.0.0.1:*")
    req.connect("tcp://127.0.0.1:#{other}")
    assert_equal "REP socket bound to tcp://127.0.0.1:#{port}, tcp://127.0.0.1:#{other}", rep.to_s
    assert_equal "REQ socket connected to tcp://127.0.0.1:#{port}, tcp://127.0.0.1:#{other}",
      req.to_s
  end

  test "after close no method works" do
    rep = ctx.bind(:REP, spot)
    assert_nil rep.close
    frame = ZMQ::Frame("x")
    calls = {
      :close => [], :bind => ["inproc://x"], :connect => ["inproc://x"],
      :real_bind => ["inproc://x"], :real_connect => ["inproc://x"], :unbind => ["inproc://x"],
      :disconnect => ["inproc://x"], :send => ["x"], :send_frame => [frame],
      :send_message => [ZMQ.Message("x")], :recv => [], :recv_nonblock => [], :recv_frame => [],
      :recv_frame_nonblock => [], :recv_message => [], :poll => [0], :state => [], :endpoints => [],
      :endpoint => [], :last_endpoint => [], :fd => [], :to_i => [], :to_s => [], :events => [],
      :readable? => [], :writable? => [], :rcvmore? => [], :rcvhwm => [], :rcvhwm= => [1],
      :linger => [], :linger= => [1], :ipv4only? => [], :ipv4only= => [true], :identity= => ["x"],
      :subscribe => [""], :unsubscribe => [""], :verbose= => [true], :monitor => ["inproc://y"]
    }
    calls.each { |method, arguments| assert_misuse(GONE) { rep.__send__(method, *arguments) } }
    refute frame.gone?
    assert_match(/closed/, rep.inspect)
  end

  test "another thread may not use it" do
    rep, req = pair(:REP, :REQ)
    calls = {
      :close => [], :bind => ["inproc://x"], :connect => ["inproc://x"],
      :real_bind => ["inproc://x"], :real_connect => ["inproc://x"], :unbind => ["inproc://x"],
      :disconnect => ["inproc://x"], :send => ["x"], :send_frame => [ZMQ.Frame("x")],
      :send_message => [ZMQ.Message("x")], :recv => [], :recv_nonblock => [], :recv_frame => [],
      :recv_frame_nonblock => [], :recv_message => [], :poll => [0], :rcvhwm= => [1],
      :linger= => [1], :ipv4only= => [true], :identity= => ["x"], :monitor => ["inproc://y"]
    }
    calls.each do |method, arguments|
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

  test "unsupported_api and handle_fsm_errors" do
    base = Class.new(ZMQ::Socket) do
      def out_of_turn = raise(SystemCallError.new(nil, ZMQ::EFSM))

      def broken = raise(Errno::EINVAL)
    end
    base.const_set(:TYPE_STR, "TEST")
    klass = Class.new(base) do
      unsupported_api :fly, :swim
      handle_fsm_errors "not your turn", :out_of_turn, :broken
      def type_str = self.class::TYPE_STR
    end
    socket = klass.allocate
    assert_misuse(/\AAPI fly not supported for TEST sockets!\z/) { socket.fly }
    assert_misuse(/\AAPI swim not supported/) { socket.swim(1, 2) }
    assert_misuse(/\Anot your turn/) { socket.out_of_turn }
    assert_raises(Errno::EINVAL) { socket.broken }
  end

  test "methods that a type does not have" do
    {PUB: %i[recv recv_nonblock recv_frame recv_frame_nonblock recv_message],
     PUSH: %i[recv recv_nonblock recv_frame recv_frame_nonblock recv_message],
     SUB: %i[send sendm send_frame send_message], PULL: %i[send sendm send_frame send_message],
     REQ: %i[sendm], REP: %i[sendm]}.each do |type, methods|
      socket = ctx.socket(type)
      methods.each do |method|
        assert_misuse(/\AAPI #{method} not supported for #{type} sockets!/) do
          socket.__send__(method)
        end
      end
    end
  end

  test "PAIR is for inproc" do
    pair = ctx.socket(:PAIR)
    assert_misuse(/inproc/) { pair.bind("tcp://127.0.0.1:*") }
    assert_misuse(/inproc/) { pair.connect("tcp://127.0.0.1:5555") }
    assert_equal ZMQ::Socket::PENDING, pair.state
    assert_equal 0, pair.bind(spot)
  end
end
