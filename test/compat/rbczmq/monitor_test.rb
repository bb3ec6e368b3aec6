# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqMonitorTest < Godwit::RbczmqCase
  # A monitor with all ten callbacks.
  class Whole < ZMQ::Monitor
    attr_reader :seen

    def initialize
      super
      @seen = Queue.new
    end

    ZMQ::Monitor.public_instance_methods(false)
      .each { |name| define_method(name) { |*arguments| @seen << [name, *arguments] } }
  end

  # Binds to a free port that the kernel chooses. With `*` the layer would try one port after the
  # other, as CZMQ does, and the monitor would report a closed socket for each port in use.
  # @return [String] the endpoint
  def bind_at_once(socket)
    socket.bind("tcp://127.0.0.1:0")
    socket.last_endpoint
  end

  def names(handler) = Array.new(handler.seen.size) { handler.seen.pop.first }

  test "the ten methods of the default handler do nothing" do
    events = ZMQ.constants.grep(/\AEVENT_/) - [:EVENT_ALL]
    methods = events.map { |event| event.to_s.sub("EVENT", "on").downcase.to_sym }
    assert_equal methods.sort, ZMQ::Monitor.public_instance_methods(false).sort
    methods.each { |name| assert_nil ZMQ::Monitor.new.__send__(name, "inproc://x", 1) }
  end

  test "wrong types, and values that libzmq would not take" do
    rep = ctx.socket(:REP)
    assert_raise TypeError, -> { rep.monitor(:invalid) },
      -> { rep.monitor("inproc://m", nil, :invalid) }
    assert_equal [false, false, true],
      ["tcp://127.0.0.1:5000", "bad uri", endpoint = spot].map { |one| rep.monitor(one) }
    assert_equal false, ctx.socket(:REP).monitor(endpoint)
  end

  test "connections" do
    bound = Whole.new
    connected = Whole.new
    rep = ctx.socket(:REP)
    req = ctx.socket(:REQ)
    rep.monitor(spot, bound, ZMQ::EVENT_ALL)
    req.monitor(spot, connected)
    endpoint = bind_at_once(rep)
    req.connect(endpoint)
    req.send("x")
    rep.recv
    assert_equal [:on_listening, endpoint], bound.seen.pop.first(2)
    assert_equal :on_accepted, bound.seen.pop.first
    assert_equal %i[on_connect_delayed on_connected], Array.new(2) { connected.seen.pop.first }
    req.close
    assert_equal :on_disconnected, bound.seen.pop.first
  end

  test "some events only" do
    handler = Whole.new
    rep = ctx.socket(:REP)
    assert_equal true, rep.monitor(spot, handler, ZMQ::EVENT_CLOSED)
    bind_at_once(rep)
    rep.close
    assert_equal :on_closed, handler.seen.pop.first
    assert_empty names(handler)
  end

  test "a second monitor replaces the first" do
    first = Whole.new
    second = Whole.new
    rep = ctx.socket(:REP)
    assert rep.monitor(spot, first)
    assert rep.monitor(spot, second)
    bind_at_once(rep)
    assert_equal :on_listening, second.seen.pop.first
    assert_empty names(first)
  end

  test "a handler that has two of the methods, and raises, gets the next event too" do
    seen = Queue.new
    handler = Object.new
    handler.define_singleton_method(:on_listening) { |*event| (seen << event) && raise("fail") }
    handler.define_singleton_method(:on_closed) { |*event| seen << event }
    rep = ctx.socket(:REP)
    assert_output(nil, /on_listening of a ZMQ monitor raised .*fail/) do
      assert_equal true, rep.monitor(spot, handler)
      endpoint = bind_at_once(rep)
      ctx.connect(:REQ, endpoint).send("x") # the handler has no method on_accepted
      rep.recv
      rep.close
      2.times { assert_equal [endpoint, Integer], seen.pop.then { |uri, fd| [uri, fd.class] } }
    end
  end

  test "when the socket is closed, its monitor's thread ends, and the name is free again" do
    ctx # on the FFI backend the first context of a process starts a thread
    before = live_threads
    endpoint = spot
    5.times do
      rep = ctx.socket(:REP)
      assert eventually { rep.monitor(endpoint) }
      rep.bind("tcp://127.0.0.1:*")
      rep.close
    end
    eventually { (live_threads - before).empty? }
  end
end
