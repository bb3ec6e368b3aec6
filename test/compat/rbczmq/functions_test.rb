# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqFunctionsTest < Godwit::RbczmqCase
  test "constants" do
    assert_equal [1, 2, 4], [ZMQ::POLLIN, ZMQ::POLLOUT, ZMQ::POLLERR]
    assert_equal [1, 2, 4, 8],
      %i[PENDING BOUND CONNECTED DISCONNECTED].map { |name| ZMQ::Socket.const_get(name) }
    types = %i[PAIR PUB SUB REQ REP DEALER ROUTER PULL PUSH XPUB XSUB STREAM]
    assert_equal (0..11).to_a, types.map { |type| ZMQ.const_get(type) }
    assert_equal [156_384_763, 156_384_764, 156_384_765, 156_384_766],
      [ZMQ::EFSM, ZMQ::ENOCOMPATPROTO, ZMQ::ETERM, ZMQ::EMTHREAD]
    events = %i[
      CONNECTED CONNECT_DELAYED CONNECT_RETRIED LISTENING BIND_FAILED ACCEPTED ACCEPT_FAILED CLOSED
      CLOSE_FAILED DISCONNECTED
    ]
    assert_equal events.each_index.map { |bit| 1 << bit },
      events.map { |event| ZMQ.const_get(:"EVENT_#{event}") }
    assert_equal events.sum { |event| ZMQ.const_get(:"EVENT_#{event}") }, ZMQ::EVENT_ALL
    assert_match(/\A\d+\.\d+\.\d+\z/, ZMQ::VERSION)
    assert_equal StandardError, ZMQ::Error.superclass
    assert_equal "-Xrbc.db", ENV["RBXOPT"]
    %i[Socket Logger Set Forwardable].each { |constant| assert Object.const_defined?(constant) }
  end

  test "select" do
    push, pull = pair(:PUSH, :PULL)
    assert_equal [[], [], []], ZMQ.select
    assert_equal [[], [], []], ZMQ.select([pull])
    assert_equal [[], [push], []], ZMQ.select([pull], [push])
    assert_equal [[], [], []], ZMQ.select(nil, nil, nil, nil)
    started = monotonic
    assert_equal [[], [], []], ZMQ.select([pull], nil, nil, 0.02)
    assert_operator monotonic - started, :>=, 0.02
    push.send("x")
    assert_equal [[pull], [push], []], ZMQ.select([pull], [push], [], 1)
    reader, writer = IO.pipe
    assert_equal [[], [writer], []], ZMQ.select([reader], [writer], nil, 1)
    assert_raise(TypeError) { ZMQ.select(["x"]) }
  ensure
    [reader, writer].compact.each(&:close)
  end

  test "resolver, versions, now" do
    assert_instance_of Resolv::DNS, ZMQ.resolver
    assert_same ZMQ.resolver, ZMQ.resolver
    assert_equal Godwit.libzmq_version, ZMQ.version.join(".")
    assert_equal [Integer] * 3, ZMQ.czmq_version.map(&:class)
    before = (Time.now.to_f * 1000).floor
    now = ZMQ.now
    assert_instance_of Integer, now
    assert_includes before..(Time.now.to_f * 1000).ceil, now
  end

  test "log" do
    out = printed { assert_nil ZMQ.log("a line") }
    assert_match(/\A\d\d-\d\d-\d\d \d\d:\d\d:\d\d a line\n\z/, out)
    assert_raise TypeError, -> { ZMQ.log(nil) }, -> { ZMQ.log(:x) }, -> { ZMQ.log(1) }
  end

  test "errno and error are of this thread" do
    assert_equal [0, nil], elsewhere { [ZMQ.errno, ZMQ.error] }
    rep = ctx.bind(:REP, endpoint = spot)
    assert_refused(Errno::EADDRINUSE) { rep.bind(endpoint) }
    assert_equal Errno::EADDRINUSE::Errno, ZMQ.errno
    assert_instance_of ZMQ::Error, ZMQ.error
    assert_match(/in use/i, ZMQ.error.message)
    assert_equal 0, elsewhere { ZMQ.errno }
  end

  test "proxy takes sockets, and moves messages until the context ends" do
    front, push = pair(:PULL, :PUSH)
    back, pull = pair(:PUSH, :PULL)
    capture, seen = pair(:PUSH, :PULL)
    assert_raise TypeError, -> { ZMQ.proxy("front", back) }, -> { ZMQ.proxy(front, nil) },
      -> { ZMQ.proxy(front, back, :capture) }
    closed, = pair(:PULL, :PUSH)
    closed.close
    assert_misuse(/destroyed/) { ZMQ.proxy(closed, back) }
    running = in_thread { ZMQ.proxy(front, back, capture) }
    push.send("through")
    push.send_message(ZMQ::Message("a", "b"))
    [pull, seen].each { |one| assert_equal %w[through a b], Array.new(3) { one.recv } }
    ctx.destroy
    assert_equal(-1, running.value)
  end

  test "they are functions of the module, and methods where it is included" do
    klass = Class.new do
      include ZMQ

      def see = [Frame("x").data, version.size, interrupted?]
    end
    assert_equal ["x", 3, false], klass.new.see
  end

  test "a logger: each line is a message" do
    push, pull = pair(:PUSH, :PULL)
    logger = ZMQ::Logger.new(push)
    assert_kind_of ::Logger, logger
    assert_equal true, logger.debug("first")
    logger.level = ::Logger::WARN
    logger.info("not this one")
    logger.error { "second" }
    logger << "raw"
    [/\AD, \[.*\] DEBUG -- : first\n\z/, /\AE, \[.*\] ERROR -- : second\n\z/, /\Araw\z/]
      .each { |line| assert_match line, pull.recv }
    assert_nil logger.close
    assert_equal true, push.send("the socket is its owner's")
  end

  test "a logger takes PUB, PUSH and PAIR only; errors of the socket are raised" do
    assert_operator ZMQ::Logger::InvalidSocketError, :<, ZMQ::Error
    %i[SUB PULL REQ REP DEALER ROUTER XPUB XSUB STREAM].map { |type| ctx.socket(type) }
      .push(nil, $stderr, "x").each do |wrong|
        assert_raises(ZMQ::Logger::InvalidSocketError, wrong) { ZMQ::Logger.new(wrong) }
      end
    %i[PUB PUSH PAIR].each do |type|
      logger = ZMQ::Logger.new(ctx.socket(type))
      assert_misuse(/only send on a bound or connected/) { logger.info("x") }
    end
  end
end
