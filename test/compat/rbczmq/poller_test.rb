# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqPollerTest < Godwit::RbczmqCase
  # @return [Array] the number of ready sockets, the readable sockets, the writable sockets
  def polled(poller, seconds = 30)
    [poller.poll(seconds), poller.readables, poller.writables]
  end

  test "an empty poller" do
    poller = ZMQ::Poller.new
    assert_equal [0, [], [], 0, 0, 0, false],
      [
        *polled(poller, 0), poller.poll, poller.poll_nonblock, poller.poll(-1),
        poller.remove($stdin)
      ]
    assert_raise TypeError, -> { poller.poll(:invalid) }, -> { poller.poll("1") },
      -> { poller.poll(true) }
  end

  test "sockets" do
    rep, req = pair(:REP, :REQ)
    poller = ZMQ::Poller.new
    assert_instance_of ZMQ::Pollitem, poller.register_readable(rep)
    assert_equal 0, poller.poll
    assert req.send("request")
    assert_equal [1, [rep], []], polled(poller)
    assert_equal 1, poller.poll_nonblock
    rep.recv
    poller.register(req)
    assert rep.send("reply")
    assert_equal [1, [req], []], polled(poller, -1)
    req.recv
    assert_equal [1, [], [req]], polled(poller, 0.01)
  end

  test "the ends of a pipe, registered for both events as by default" do
    reader, writer = IO.pipe
    poller = ZMQ::Poller.new
    [reader, writer].each do |io|
      assert_equal ZMQ::POLLIN | ZMQ::POLLOUT, poller.register(io).events
    end
    assert_equal [1, [], [writer]], polled(poller)
    writer.write("message")
    assert_equal [2, [reader], [writer]], polled(poller)

    item = ZMQ::Pollitem(reader)
    item.handler = ZMQ::DefaultHandler.new(item)
    assert_equal "\"message\"\n",
      printed { ZMQ::Loop.run { ZL.register(item) && ZL.add_oneshot_timer(0.05) { false } } }
  ensure
    [reader, writer].each(&:close)
  end

  test "a broken IO is reported" do
    reader, writer = IO.pipe
    reader.close
    poller = ZMQ::Poller.new
    poller.register_writable(writer)
    assert_equal [1, [writer]], [poller.poll(30), poller.writables]
    assert_raises(Errno::EPIPE) { writer.write_nonblock("x") }
  ensure
    writer.close
  end

  test "register" do
    rep, req = pair(:REP, :REQ)
    poller = ZMQ::Poller.new
    item = ZMQ::Pollitem.new(rep)
    assert_same item, poller.register(item)
    assert_misuse(/pending/) { poller.register(ctx.socket(:REP)) }
    assert_raise(TypeError) { poller.register("x") }
    poller.register_readable(req)
    poller.register_writable(req) # the same socket twice
    assert_equal [1, [], [req]], polled(poller)
  end

  test "an event that a type never has does not count" do
    push, pull = pair(:PUSH, :PULL)
    poller = ZMQ::Poller.new
    [push, pull].each { |socket| poller.register(socket) }
    poller.register_readable(push)
    poller.register_writable(pull)
    assert_equal [1, [], [push]], polled(poller)
    only = ZMQ::Poller.new
    only.register_readable(push)
    started = monotonic
    assert_equal 0, only.poll(0.02)
    assert_operator monotonic - started, :>=, 0.02
  end

  test "remove" do
    rep, req = pair(:REP, :REQ)
    poller = ZMQ::Poller.new
    item = poller.register(req)
    assert_equal [false, item, false], [rep, req, req].map { |socket| poller.remove(socket) }
    item = poller.register_readable($stdin)
    assert_same item, poller.remove(item)
    poller.register(item)
    assert_same item, poller.remove($stdin)
    poller.register_readable(req)
    assert_instance_of ZMQ::Pollitem, poller.remove(ZMQ::Pollitem.new(req))
    assert_equal 0, poller.poll
  end

  test "the rest of a message counts" do
    push, pull = pair(:PUSH, :PULL)
    poller = ZMQ::Poller.new
    poller.register(pull)
    push.send_message(ZMQ::Message("a", "b"))
    assert_equal 1, poller.poll(30)
    pull.recv
    assert_equal [1, [pull]], [poller.poll(-1), poller.readables]
    pull.recv
    assert_equal 0, poller.poll
  end

  test "verbose, and a closed socket" do
    push, pull = pair(:PUSH, :PULL)
    poller = ZMQ::Poller.new
    poller.verbose = true
    [push, pull].each { |socket| poller.register(socket) }
    assert_match(/I: poller: 1 of 2 ready/, printed { poller.poll(30) })
    pull.close
    assert_misuse(/closed/i) { poller.poll(30) }
  end

  test "pollitems" do
    rep, req = pair(:REP, :REQ)
    item = ZMQ::Pollitem.new(rep)
    assert_equal [rep, ZMQ::POLLIN | ZMQ::POLLOUT, nil], [item.pollable, item.events, item.handler]
    {ZMQ.Pollitem(req, ZMQ::POLLOUT) => [req, 2], ZMQ.Pollitem($stdin) => [$stdin, 3],
     ZMQ::Pollitem.new(rep, ZMQ::POLLIN) => [rep, 1], ZMQ::Pollitem.coerce(rep) => [rep, 3]}
      .each { |one, expected| assert_equal expected, [one.pollable, one.events] }
    assert_same item, ZMQ::Pollitem.coerce(item)
    [nil, "x", 1, Object.new].each do |wrong|
      assert_raise TypeError, -> { ZMQ::Pollitem.new(wrong) }, -> { ZMQ::Pollitem.coerce(wrong) }
    end
    assert_raise(TypeError) { ZMQ::Pollitem.new(rep, :in) }
    assert_misuse(/pending/) { ZMQ::Pollitem.new(ctx.socket(:REP)) }
    assert_misuse(/invalid socket event: Only ZMQ::POLLIN and ZMQ::POLLOUT/,
      -> { ZMQ::Pollitem.new(rep, ZMQ::POLLERR) }, -> { ZMQ::Pollitem.new(rep, 0) })
    out = printed do
      [item, ZMQ::Pollitem.new($stdin)].each { |one| one.verbose = true }
      rep.recv_nonblock
    end
    assert_match(/REP socket .*: recv nil/, out)
    assert_match(/Pollitem/, item.inspect)
  end

  test "handlers of pollitems" do
    rep, = pair(:REP, :REQ)
    item = ZMQ::Pollitem.new(rep)
    handler = ZMQ::Handler.new(item)
    item.handler = handler
    names = %i[on_error on_readable on_writable]
    names.each do |missing|
      other = Struct.new(*(names - [missing])).new
      assert_misuse(/#{missing}/) { item.handler = other }
    end
    assert_misuse(/on_error/) { item.handler = nil }
    assert_same handler, item.handler
  end

  test "send and recv of pollitems" do
    rep, req = pair(:REP, :REQ)
    assert_equal true, ZMQ::Pollitem.new(req).send("x")
    assert_equal "x", eventually { ZMQ::Pollitem.new(rep).recv }
    assert_nil ZMQ::Pollitem.new(rep).recv
    reader, writer = IO.pipe
    assert_equal 3, ZMQ::Pollitem.new(writer).send("xyz")
    assert_equal "xyz", ZMQ::Pollitem.new(reader).recv
    assert_raises(IO::WaitReadable) { ZMQ::Pollitem.new(reader).recv }
    one, other = UNIXSocket.pair
    assert_equal 2, ZMQ::Pollitem.new(one).send("ab")
    assert_equal "ab", ZMQ::Pollitem.new(other).recv
    assert_raises(IO::WaitReadable) { ZMQ::Pollitem.new(other).recv }
  ensure
    [reader, writer, one, other].compact.each(&:close)
  end

  test "Handler and DefaultHandler" do
    rep, req = pair(:REP, :REQ)
    item = ZMQ::Pollitem.new(req)
    handler = ZMQ::Handler.new(item, 1, 2)
    assert_same item, handler.pollitem
    assert_raise TypeError, -> { ZMQ::Handler.new(req) }, -> { ZMQ::Handler.new(nil) }
    assert_raise NotImplementedError, -> { handler.on_readable }, -> { handler.on_writable }
    error = RuntimeError.new("oops")
    assert_same error, assert_raise(RuntimeError) { handler.on_error(error) }
    assert_equal true, handler.send("x")
    assert_equal "x", eventually { ZMQ::Handler.new(ZMQ::Pollitem.new(rep)).recv }

    default = ZMQ::DefaultHandler.new(ZMQ::Pollitem.new(rep))
    assert_kind_of ZMQ::Handler, default
    default.on_writable
    assert_equal "", req.recv
  end
end
