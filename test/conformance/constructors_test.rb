# frozen_string_literal: true

# libzmq: test_socket_null

require "test_helper"
require_relative "assertions"

class ConstructorsTest < Godwit::TestCase
  include Conformance::Assertions

  TYPES = %i[REQ REP DEALER ROUTER PUB SUB XPUB XSUB PUSH PULL PAIR STREAM].freeze

  # The default context belongs to the process: the harness sees sockets that these tests leave
  # open.
  TYPES.each do |type|
    test "#{type} by new, bind, connect, and a context's socket" do
      klass = Godwit.const_get(type)
      bound = own(klass.bind("tcp://127.0.0.1:*", context: context))
      connected = own(klass.connect(bound.last_endpoint, context: context))
      fresh = own(klass.new(context: context))
      made = own(context.socket(type.to_s.downcase))
      [bound, connected, fresh, made].each do |socket|
        assert_instance_of klass, socket
        assert_kind_of Godwit::Socket, socket
        assert_equal [type, type, context, false],
          [socket.type, klass.type, socket.context, socket.closed?]
      end
      assert_equal [[bound.last_endpoint], [bound.last_endpoint], [], []],
        [bound, connected, fresh, made].map(&:endpoints)
    end
  end

  test "without a context it is the process's" do
    socket = own(Godwit::PAIR.new)
    assert_same Godwit.context, socket.context
    refute_same context, socket.context
  end

  test "block forms close when the block raises, breaks or throws" do
    seen = []
    assert_raises(ZeroDivisionError) do
      Godwit::PAIR.new(context: context) { |socket| seen << socket and 1 / 0 }
    end
    Godwit::PAIR.bind(endpoint_for(:inproc), context: context) { |socket| break seen << socket }
    catch(:out) do
      Godwit::PAIR.connect(endpoint_for(:inproc), context: context) do |socket|
        seen << socket and throw :out
      end
    end
    assert_equal 3, seen.count(&:closed?)
  end

  test "a socket may be closed within its block" do
    assert_nil Godwit::PAIR.new(context: context, &:close)
  end

  test "options are keywords" do
    socket =
      own(
        Godwit::SUB.connect(
          "tcp://127.0.0.1:#{free_port}", context: context, subscribe: "a.", recv_hwm: 10_000,
          linger: nil
        )
      )
    assert_equal [10_000, nil], [socket.recv_hwm, socket.linger]
    socket.linger = 0
    bound =
      own(
        Godwit::PUSH.bind("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", context: context, send_hwm: 1)
      )
    assert_equal [2, 1], [bound.endpoints.size, bound.send_hwm]
  end

  test "when a constructor raises, no socket stays open" do
    taken = open_socket(:PAIR).bind(endpoint_for(:tcp)).last_endpoint
    small = own(Godwit::Context.new(max_sockets: 40))
    bad = {
      Godwit::AddressInUseError => -> do
        Godwit::PAIR.bind("tcp://127.0.0.1:*", taken, context: small)
      end,
      Godwit::EndpointError => -> { Godwit::PULL.connect("nonsense", context: small) },
      Godwit::ProtocolError => -> do
        Godwit::PULL.bind("carrier-pigeon://x".tr("-", ""), context: small)
      end,
      Godwit::OptionError => -> { Godwit::PAIR.new(context: small, linger: -5) },
      Godwit::CurveKeyError => -> { Godwit::PAIR.new(context: small, curve: "key") },
      ArgumentError => -> { Godwit::PAIR.new(context: small, encoding: "klingon") },
      Godwit::UnsupportedError => -> { Godwit::CLIENT.new(context: small) }
    }
    bad.delete(Godwit::UnsupportedError) if Godwit.has?(:draft)
    GC.disable # which would close the open socket
    5.times { bad.each { |klass, call| assert_raises(klass, &call) } }
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

  test "bind and connect want an endpoint" do
    assert_match(
      /bind needs an endpoint/,
      assert_raises(ArgumentError) { Godwit::PAIR.bind(context: context) }.message
    )
    assert_match(
      /connect needs an endpoint/,
      assert_raises(ArgumentError) { Godwit::PAIR.connect(context: context) }.message
    )
  end

  test "Socket itself is abstract, and a context knows the types by name" do
    assert_raises(NoMethodError) { Godwit::Socket.new }
    error = assert_raises(ArgumentError) { context.socket(:REQUEST) }
    assert_match(/:REQUEST.*REQ, REP/, error.message)
  end

  test "dup and clone make no sense" do
    [open_socket(:PAIR), context].each do |one|
      %i[dup clone].each do |copy|
        assert_named(Godwit::UnsupportedError, /cannot be copied: share this one.*new/) do
          one.public_send(copy)
        end
      end
    end
  end

  test "an allocated socket that was never opened raises, and does not crash" do
    raw = Godwit::PAIR.allocate
    assert_raises(StandardError) { raw.recv(timeout: 0) }
    assert_raises(StandardError) { raw << "x" }
    assert_predicate raw, :closed?
  end

  test "a subclass is a type too" do
    klass = Class.new(Godwit::PAIR) { def shout(text) = self << text.upcase }
    shouter = own(klass.bind(endpoint_for(:inproc), context: context))
    listener = open_socket(:PAIR).connect(shouter.last_endpoint)
    shouter.shout("hello")
    assert_equal ["HELLO", :PAIR], [listener.recv(timeout: 5), shouter.type]
  end

  test "close is idempotent and gives nil" do
    socket = open_socket(:PAIR)
    assert_nil socket.close
    assert_nil socket.close
    assert_predicate socket, :closed?
  end
end
