# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqPollerTest < Godwit::RbczmqCase
  under_gc_stress

  test "an empty poller" do
    poller = ZMQ::Poller.new
    assert_equal [0, 0, 0, [], []],
      [poller.poll, poller.poll(0), poller.poll_nonblock, poller.readables, poller.writables]
    assert_equal 0, poller.poll(-1)
    assert_equal false, poller.remove($stdin)
    [:invalid, "1", true].each { |wrong| assert_raises(TypeError) { poller.poll(wrong) } }
  end

  test "sockets" do
    rep, req = pair(:REP, :REQ)
    poller = ZMQ::Poller.new
    assert_instance_of ZMQ::Pollitem, poller.register_readable(rep)
    assert_equal 0, poller.poll
    assert req.send("request")
    assert_equal [1, [rep], []], [poller.poll(30), poller.readables, poller.writables]
    assert_equal 1, poller.poll_nonblock
    rep.recv
    poller.register(req)
    assert rep.send("reply")
    assert_equal [1, [req], []], [poller.poll(-1), poller.readables, poller.writables]
    req.recv
    assert_equal [1, [], [req]], [poller.poll(0.01), poller.readables, poller.writables]
  end

  test "the ends of a pipe, registered for both events as by default" do
    reader, writer = IO.pipe
    poller = ZMQ::Poller.new
    [reader, writer].each do |io|
      assert_equal ZMQ::POLLIN | ZMQ::POLLOUT, poller.register(io).events
    end
    assert_equal [1, [], [writer]], [poller.poll(30), poller.readables, poller.writables]
    writer.write("message")
    assert_equal [2, [reader], [writer]], [poller.poll(30), poller.readables, poller.writables]

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
    assert_misuse(/Only ZMQ::POLLIN and ZMQ::POLLOUT/) do
      poller.register(ZMQ::Pollitem.new(req, 0))
    end
    assert_raises(TypeError) { poller.register("x") }
  end

  test "an event that a type never has does not count" do
    push, pull = pair(:PUSH, :PULL)
    poller = ZMQ::Poller.new
    poller.register(push)
    poller.register(pull)
    poller.register_readable(push)
    poller.register_writable(pull)
    assert_equal [1, [], [push]], [poller.poll(30), poller.readables, poller.writables]
    only = ZMQ::Poller.new
    only.register_readable(push)
    started = monotonic
    assert_equal 0, only.poll(0.02)
    assert_operator monotonic - started, :>=, 0.02
  end

  test "the same socket twice" do
    rep, req = pair(:REP, :REQ)
    poller = ZMQ::Poller.new
    poller.register_readable(req)
    poller.register_writable(req)
    poller.register_readable(rep)
    assert_equal [1, [], [req]], [poller.poll(30), poller.readables, poller.writables]
  end

  test "remove" do
    rep, req = pair(:REP, :REQ)
    poller = ZMQ::Poller.new
    item = poller.register(req)
    assert_equal false, poller.remove(rep)
    assert_same item, poller.remove(req)
    assert_equal false, poller.remove(req)
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

  test "a closed socket is reported" do
    push, pull = pair(:PUSH, :PULL)
    poller = ZMQ::Poller.new
    poller.register(pull)
    poller.register(push)
    pull.close
    assert_misuse(/closed/i) { poller.poll(30) }
  end

  test "verbose" do
    push, = pair(:PUSH, :PULL)
    poller = ZMQ::Poller.new
    poller.verbose = true
    poller.register(push)
    assert_match(/I: poller: 1 of 1 ready/, printed { poller.poll(30) })
  end

  test "pollitems" do
    rep, req = pair(:REP, :REQ)
    item = ZMQ::Pollitem.new(rep)
    assert_equal [rep, ZMQ::POLLIN | ZMQ::POLLOUT, nil], [item.pollable, item.events, item.handler]
    assert_equal ZMQ::POLLIN, ZMQ::Pollitem.new(rep, ZMQ::POLLIN).events
    assert_equal [req, ZMQ::POLLOUT],
      ZMQ.Pollitem(req, ZMQ::POLLOUT).then { |one| [one.pollable, one.events] }
    assert_same item, ZMQ::Pollitem.coerce(item)
    assert_equal rep, ZMQ::Pollitem.coerce(rep).pollable
    assert_equal $stdin, ZMQ::Pollitem.coerce($stdin).pollable
    [nil, "x", 1, Object.new].each do |wrong|
      assert_raises(TypeError) { ZMQ::Pollitem.new(wrong) }
      assert_raises(TypeError) { ZMQ::Pollitem.coerce(wrong) }
    end
    assert_raises(TypeError) { ZMQ::Pollitem.new(rep, :in) }
    assert_misuse(/pending/) { ZMQ::Pollitem.new(ctx.socket(:REP)) }
    assert_misuse(/invalid socket event/) { ZMQ::Pollitem.new(rep, ZMQ::POLLERR) }
    printed do
      item.verbose = true
      item.verbose = false
      ZMQ::Pollitem.new($stdin).verbose = true
    end
    assert_match(/Pollitem/, item.inspect)
  end

  test "handlers of pollitems" do
    rep, = pair(:REP, :REQ)
    item = ZMQ::Pollitem.new(rep)
    handler = ZMQ::Handler.new(item)
    item.handler = handler
    assert_same handler, item.handler
    %i[on_error on_readable on_writable].each do |missing|
      other = Object.new
      (%i[on_error on_readable on_writable] - [missing]).each do |method|
        other.define_singleton_method(method) { |*| nil }
      end
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

  test "Handler" do
    rep, req = pair(:REP, :REQ)
    item = ZMQ::Pollitem.new(req)
    handler = ZMQ::Handler.new(item, 1, 2)
    assert_same item, handler.pollitem
    assert_raises(TypeError) { ZMQ::Handler.new(req) }
    assert_raises(TypeError) { ZMQ::Handler.new(nil) }
    assert_raises(NotImplementedError) { handler.on_readable }
    assert_raises(NotImplementedError) { handler.on_writable }
    assert_equal "oops",
      assert_raises(RuntimeError) { handler.on_error(RuntimeError.new("oops")) }.message
    assert_equal true, handler.send("x")
    assert_equal "x", eventually { ZMQ::Handler.new(ZMQ::Pollitem.new(rep)).recv }
  end

  test "DefaultHandler" do
    rep, req = pair(:REP, :REQ)
    req.send("shown")
    default = ZMQ::DefaultHandler.new(ZMQ::Pollitem.new(rep))
    assert_kind_of ZMQ::Handler, default
    eventually { rep.readable? }
    assert_equal "\"shown\"\n", printed { default.on_readable }
    default.on_writable
    assert_equal "", req.recv
  end
end
