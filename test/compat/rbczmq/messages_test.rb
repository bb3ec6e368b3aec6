# frozen_string_literal: true

require_relative "rbczmq_case"

# Sends and receives messages and frames.
class RbczmqMessagesTest < Godwit::RbczmqCase
  test "send and recv" do
    rep, req = pair(:REP, :REQ, "tcp://127.0.0.1:*")
    assert_equal true, req.send("ping\0\xff".b)
    message = rep.recv
    assert_equal ["ping\0\xff".b, Encoding::BINARY], [message, message.encoding]
    refute rep.rcvmore?
    assert_equal true, rep.send("")
    assert_equal "", req.recv
  end

  test "send takes objects with to_str, and nothing else" do
    push, pull = pair(:PUSH, :PULL)
    assert push.send(ZMQ::Frame("a frame"))
    assert push.send(Object.new.tap { |object| def object.to_str = "converted" })
    assert push.sendm(Class.new(String).new("sub"))
    assert push.send(Class.new(String).new("class"))
    assert_equal ["a frame", "converted", "sub", "class"], Array.new(4) { pull.recv }
    [nil, :sym, 1, ["a"], Godwit::Message.new("a")].each do |wrong|
      assert_raise TypeError, -> { push.send(wrong) }, -> { push.sendm(wrong) }
    end
    assert_nil pull.recv_nonblock
  end

  test "before bind and connect" do
    push = ctx.socket(:PUSH)
    pull = ctx.socket(:PULL)
    assert_misuse(/\Acan only send on a bound or connected socket!\z/, -> { push.send("x") },
      -> { push.sendm("x") }, -> { push.send_frame(ZMQ::Frame("x")) },
      -> { push.send_message(ZMQ::Message("x")) })
    %i[recv recv_nonblock recv_frame recv_frame_nonblock recv_message].each do |method|
      assert_misuse(/\Acan only receive on a bound or connected socket!\z/) do
        pull.__send__(method)
      end
    end
  end

  test "send gives false when time is up" do
    push = ctx.bind(:PUSH, spot)
    push.sndtimeo = 20
    started = monotonic
    assert_equal false, push.send("nobody is there")
    assert_operator monotonic - started, :>=, 0.02
    assert_equal Errno::EAGAIN::Errno, ZMQ.errno
    assert_equal false, push.sendm("nobody is there")
    frame = ZMQ::Frame("nobody is there")
    assert_equal [false, false], [push.send_frame(frame), push.send_frame(frame, :DONTWAIT)]
    refute frame.gone?
    message = ZMQ::Message("nobody", "is there")
    assert_nil push.send_message(message)
    refute message.gone?
    push.sndtimeo = 0
    assert_equal false, push.send("nobody is there")
    pull = ctx.connect(:PULL, push.endpoint)
    assert_equal true, push.send("somebody")
    assert_equal "somebody", pull.recv
    assert_nil pull.recv_nonblock
  end

  test "sendm holds a message together" do
    push, pull = pair(:PUSH, :PULL, "tcp://127.0.0.1:*")
    part = +"batch"
    assert_equal true, push.sendm(part)
    part << " changed"
    assert_equal true, push.sendm("of")
    assert_equal false, pull.poll(5)
    assert_equal true, push.send("messages")
    assert_equal [["batch", true], ["of", true], ["messages", false]],
      Array.new(3) { [pull.recv, pull.rcvmore?] }
  end

  test "the rest of a message is there at once" do
    push, pull = pair(:PUSH, :PULL)
    push.sendm("a")
    push.sendm("b")
    push.send("c")
    assert pull.poll(1000)
    assert_equal "a", pull.recv
    assert_equal [true, true, true, ZMQ::POLLIN],
      [pull.rcvmore?, pull.readable?, pull.poll(0), pull.events]
    assert_equal "b", pull.recv_nonblock
    assert_equal "c", pull.recv
    assert_equal [false, false, false, 0],
      [pull.rcvmore?, pull.readable?, pull.poll(0), pull.events]
  end

  test "recv gives nil when time is up, or at once" do
    push, pull = pair(:PUSH, :PULL)
    pull.rcvtimeo = 20
    started = monotonic
    assert_nil pull.recv
    assert_operator monotonic - started, :>=, 0.02
    assert_equal Errno::EAGAIN::Errno, ZMQ.errno
    assert_instance_of ZMQ::Error, ZMQ.error
    assert_equal [nil] * 4,
      [pull.recv_frame, pull.recv_message, pull.recv_nonblock, pull.recv_frame_nonblock]
    %w[a b].each { |text| push.send(text) }
    assert_equal ["a", ZMQ::Frame("b")], [pull.recv_nonblock, pull.recv_frame_nonblock]
  end

  test "out of turn" do
    rep, req = pair(:REP, :REQ)
    assert_misuse(
      Regexp.new('\AREP sockets allows only an alternating sequence of receive and subsequent ' \
        'send calls\. Please assert .* REQ / REP socket pairs\.\z')
    ) { rep.send("first") }
    assert_misuse(/\AREP sockets allows only/) { rep.send_frame(ZMQ::Frame("first")) }
    assert_nil rep.send_message(ZMQ::Message("first"))
    assert_equal [nil] * 4, [req.recv, req.recv_frame, req.recv_message, req.recv_nonblock]
    assert_equal ZMQ::EFSM, ZMQ.errno
    assert req.send("x")
    assert_misuse(/\AREQ sockets allows only an alternating sequence/) { req.send("y") }
    assert_equal "x", rep.recv
    assert_nil rep.recv_nonblock
  end

  test "frames" do
    a, b = pair(:PAIR, :PAIR)
    ping = ZMQ::Frame("ping")
    assert_equal true, a.send_frame(ping)
    assert ping.gone?
    frame = b.recv_frame
    assert_instance_of ZMQ::Frame, frame
    assert_equal [ZMQ::Frame("ping"), false], [frame, frame.more?]
    assert_misuse(/gone/) { a.send_frame(ping) }
    assert_raise(TypeError) { a.send_frame("ping") }
    assert_raise(ArgumentError) { a.send_frame }
  end

  test "frames with flags" do
    a, b = pair(:PAIR, :PAIR)
    [ZMQ::Frame::MORE, :MORE].each do |flag|
      assert_equal true, a.send_frame(ZMQ.Frame("more"), flag)
    end
    assert_nil b.recv_nonblock
    reused = ZMQ::Frame("reused")
    assert_equal true, a.send_frame(reused, :REUSE)
    assert_equal true, a.send_frame(reused, ZMQ::Frame::REUSE | ZMQ::Frame::DONTWAIT)
    assert_equal true, a.send_frame(reused, :DONTWAIT)
    assert reused.gone?
    seen = Array.new(5) { b.recv_frame }
    assert_equal %w[more more reused reused reused], seen.map(&:data)
    assert_equal [true, true, false, false, false], seen.map(&:more?)
    assert_raise(NameError) { a.send_frame(ZMQ::Frame("x"), :NOPE) }
    assert_raise(TypeError) { a.send_frame(ZMQ::Frame("x"), "MORE") }
  end

  test "REQ and REP send no frames with more to come" do
    rep, req = pair(:REP, :REQ)
    assert_misuse(/multiple frames on REQ/) { req.send_frame(ZMQ::Frame("x"), ZMQ::Frame::MORE) }
    assert_misuse(/multiple frames on REP/) { rep.send_frame(ZMQ::Frame("x"), :MORE) }
    assert req.send_frame(ZMQ::Frame("x"), :REUSE)
    assert_equal "x", rep.recv
  end

  test "messages" do
    rep, req = pair(:REP, :REQ)
    message = ZMQ::Message("one", "two", "")
    assert_nil req.send_message(message)
    assert message.gone?
    received = rep.recv_message
    assert_instance_of ZMQ::Message, received
    assert_equal [true, true, false], received.to_a.map(&:more?)
    assert_equal %w[one two] + [""], Array.new(3) { received.popstr }
    assert_raise TypeError, -> { rep.send_message(message) }, -> { rep.send_message("x") }
    assert_nil rep.send_message(ZMQ::Message("reply"))
    assert_equal ["reply"], data(req.recv_message)
  end

  test "an empty message is gone, and nothing is sent" do
    push, pull = pair(:PUSH, :PULL)
    empty = ZMQ::Message.new
    assert_nil push.send_message(empty)
    assert empty.gone?
    assert push.send("next")
    assert_equal "next", pull.recv
  end

  test "sendm, then send_message and send_frame; recv_message takes the remaining frames" do
    push, pull = pair(:PUSH, :PULL)
    push.sendm("address")
    push.send_message(ZMQ::Message("a", "b"))
    push.sendm("address")
    push.send_frame(ZMQ::Frame("c"))
    assert_equal "address", pull.recv
    assert_equal %w[a b], data(pull.recv_message)
    assert_equal %w[address c], data(pull.recv_message)
  end

  test "a router that insists says that there is no such peer" do
    router = ctx.socket(:ROUTER)
    router.router_mandatory = true
    router.bind(spot)
    router.sendm("nobody")
    assert_refused(Errno::EHOSTUNREACH) { router.send("x") }
    assert_nil router.send_message(ZMQ::Message("nobody", "x"))
    dealer = ctx.socket(:DEALER)
    dealer.identity = "somebody"
    dealer.connect(router.endpoint)
    dealer.send("here I am")
    assert_equal %w[somebody here\ I\ am], [router.recv, router.recv]
    router.sendm("somebody")
    assert router.send("the failed one has left nothing behind")
    assert_equal "the failed one has left nothing behind", dealer.recv
  end

  test "poll" do
    push, pull = pair(:PUSH, :PULL)
    started = monotonic
    assert_equal false, pull.poll(20)
    assert_operator monotonic - started, :>=, 0.02
    push.send("x")
    assert_equal true, pull.poll(-1)
    assert_equal true, pull.poll(0)
    assert_raise TypeError, -> { pull.poll(0.5) }, -> { pull.poll(nil) }, -> { pull.poll(:x) }
  end

  test "events" do
    rep, req = pair(:REP, :REQ)
    assert_equal [0, ZMQ::POLLOUT], [rep.events, req.events]
    assert_equal [false, false, false, true],
      [rep.readable?, rep.writable?, req.readable?, req.writable?]
    req.send("x")
    assert_equal [ZMQ::POLLIN, 0], [rep.events, req.events]
    assert rep.readable?
    pub = ctx.bind(:PUB, spot)
    router = ctx.socket(:ROUTER) # writable even without an endpoint
    router.router_mandatory = true
    assert_equal [false, ZMQ::POLLOUT, ZMQ::POLLOUT], [pub.readable?, pub.events, router.events]
  end
end
