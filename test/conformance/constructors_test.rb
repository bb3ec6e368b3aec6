# frozen_string_literal: true

# libzmq: test_ctx_destroy, test_ctx_options, test_socket_null

require_relative "case"

# How sockets and contexts are made, and how a context ends.
class ConstructorsTest < Conformance::Case
  %i[REQ REP DEALER ROUTER PUB SUB XPUB XSUB PUSH PULL PAIR STREAM].each do |type|
    test "#{type} by new, bind, connect, and a context's socket" do
      klass = Godwit.const_get(type)
      bound = own(klass.bind("tcp://127.0.0.1:*", context: context))
      connected = own(klass.connect(bound.last_endpoint, context: context))
      fresh = own(klass.new(context: context))
      made = own(context.socket(type.to_s.downcase))
      [bound, connected, fresh, made].each do |socket|
        assert_instance_of klass, socket
        assert_equal [type, type, context, false],
          [socket.type, klass.type, socket.context, socket.closed?]
      end
      assert_equal [[bound.last_endpoint], [bound.last_endpoint], [], []],
        [bound, connected, fresh, made].map(&:endpoints)
    end
  end

  test "when a constructor raises, or its block ends early, no socket stays open" do
    taken = open_socket(:PAIR).bind(endpoint_for(:tcp)).last_endpoint
    small = own(Godwit::Context.new(max_sockets: 40))
    bad = {
      Godwit::AddressInUseError => -> { Godwit::PAIR.bind("tcp://*:*", taken, context: small) },
      Godwit::EndpointError => -> { Godwit::PULL.connect("nonsense", context: small) },
      Godwit::ProtocolError => -> { Godwit::PULL.bind("pigeon://x", context: small) },
      Godwit::OptionError => -> { Godwit::PAIR.new(context: small, linger: -5) },
      Godwit::CurveKeyError => -> { Godwit::PAIR.new(context: small, curve: "key") },
      ArgumentError => -> { Godwit::PAIR.new(context: small, encoding: "klingon") },
      Godwit::UnsupportedError => -> { Godwit::CLIENT.new(context: small) },
      ZeroDivisionError => -> { Godwit::PAIR.bind("tcp://*:*", context: small) { 1 / 0 } }
    }
    bad.delete(Godwit::UnsupportedError) if Godwit.has?(:draft)
    GC.disable # GC would close a socket that a constructor left open
    5.times { bad.each { |klass, call| assert_raises(klass, &call) } }
    catch(:out) { Godwit::PAIR.new(context: small) { throw :out } }
    # The context has room for 40 sockets again when libzmq has freed the closed ones.
    sockets = []
    assert(eventually { sockets.push(*one_more(small)).size == 40 })
  ensure
    GC.enable
  end

  def one_more(context)
    own(context.socket(:PAIR))
  rescue Godwit::TooManySocketsError
    nil
  end

  test "a subclass is a type too" do
    klass = Class.new(Godwit::PAIR) { def shout(text) = self << text.upcase }
    shouter = own(klass.bind(endpoint_for(:inproc), context: context))
    listener = open_socket(:PAIR).connect(shouter.last_endpoint)
    shouter.shout("hello")
    assert_equal ["HELLO", :PAIR], [listener.recv(timeout: 5), shouter.type]
  end

  test "socket_options are the defaults of its sockets, where they apply; the socket's own " \
    "options win" do
    own(one = Godwit::Context.new(socket_options: {
      recv_hwm: 11, send_timeout: 0.25, mandatory: true, subscribe: "a"
    }))
    pull, other = own(one.socket(:PULL)), own(one.socket(:PULL, recv_hwm: 12))
    router = own(one.socket(:ROUTER))
    assert_equal [11, 0.25, 12, 0.25],
      [pull.recv_hwm, pull.send_timeout, other.recv_hwm, other.send_timeout]
    assert_raises(Godwit::UnreachableError) { router << ["nobody", "x"] }
    pub = own(one.socket(:PUB)).bind(endpoint_for(:inproc))
    sub = own(one.socket(:SUB)).connect(pub.last_endpoint)
    pub.wait_connected(timeout: 5)
    assert_flows(pub, sub, "a1")
    assert_predicate one.socket_options, :frozen?
  end

  test "close waits for the sockets' own linger, and only for sent messages" do
    nobody = "tcp://127.0.0.1:#{free_port}"
    # libzmq counts linger from the start of the current millisecond: 100 ms may end after 99 ms.
    {nil => 0, 0 => 0, 0.1 => 0.099}.each do |linger, least|
      one = own(Godwit::Context.new(linger: 2 * HANG))
      push = own(one.socket(:PUSH))
      push.linger = linger if linger
      push.connect(nobody)
      push << "never taken" if linger
      assert_takes(least) { ended(in_thread { one.close }) }
    end
  end
end
