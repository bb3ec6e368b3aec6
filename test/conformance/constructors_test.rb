# frozen_string_literal: true

# libzmq: test_socket_null

require_relative "case"

class ConstructorsTest < Conformance::Case
  # The default context belongs to the process: the harness sees sockets that these tests leave
  # open.
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
    GC.disable # which would close the open socket
    5.times { bad.each { |klass, call| assert_raises(klass, &call) } }
    catch(:out) { Godwit::PAIR.new(context: small) { throw :out } }
    # There is room for as many as before, as soon as libzmq has cleared away.
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
end
