# frozen_string_literal: true

# libzmq: test_disconnect_inproc, test_invalid_rep, test_issue_566, test_metadata, test_probe_router
# libzmq: test_rebind_ipc
# libzmq: test_reconnect_ivl, test_security_null, test_sockopt_hwm, test_spec_rep, test_spec_dealer
# libzmq: test_spec_pushpull, test_tcp_accept_filter

require_relative "../test_helper"
require_relative "assertions"

# Scenarios of libzmq's own tests (docs/conformance.md) without another file.
class LibzmqScenariosTest < Godwit::TestCase
  include Conformance::Assertions

  test "a SUB that disconnects over inproc has unsubscribed, and subscribes again when it " \
    "reconnects" do
    xpub = open_socket(:XPUB).bind(endpoint_for(:inproc))
    sub = open_socket(:SUB, subscribe: "a").connect(xpub.last_endpoint)
    assert_equal "\x01a".b, xpub.recv(timeout: 5)
    sub.disconnect(xpub.last_endpoint)
    # Over inproc the end of a connection takes both sockets, so the SUB has to be used too.
    ended = eventually("the XPUB never received it") do
      sub.readable?
      xpub.recv(timeout: 0.01, exception: false)
    end
    assert_equal "\x00a".b, ended
    xpub << "a lost"
    sub.connect(xpub.last_endpoint)
    assert_equal "\x01a".b, xpub.recv(timeout: 5)
    assert_flows xpub, sub, "a found"
  end

  # Over tcp and ipc the first peer ends the connection.
  each_transport("a REQ drops replies without the empty frame, and takes the next valid " \
    "reply", only: [:inproc]) do |transport|
    router = open_socket(:ROUTER).bind(endpoint_for(transport))
    req = open_socket(:REQ).connect(router.last_endpoint)
    req << "question"
    client, = router.recv(timeout: 5)
    router << [client, "no delimiter"] << [client, "too", "many"] << [client, "", "good"]
    assert_equal "good", req.recv(timeout: 5)
  end

  test "a ROUTER reaches each of a hundred DEALERs that come and go" do
    router = open_socket(:ROUTER, mandatory: true).bind(endpoint_for(:tcp))
    100.times do |number|
      dealer =
        open_socket(:DEALER, routing_id: "dealer #{number}", linger: 0).connect(
          router.last_endpoint
        )
      eventually("the ROUTER never reached DEALER #{number}") do
        router.send(["dealer #{number}", "hello"], timeout: 5)
      rescue Godwit::UnreachableError
        nil
      end
      assert_equal "hello", dealer.recv(timeout: 5)
      dealer.close
    end
  end

  test "a ZAP authenticator's metadata of a client are properties of the client's messages" do
    zap = open_socket(:REP).bind("inproc://zeromq.zap.01")
    # RFC 27: name and value, each behind its size.
    world = [5, "Hello", 5, "World"].pack("CA*NA*")
    in_thread { zap.serve { |version, id, *| [version, id, "200", "OK", "anna", world] } }
    pull = open_socket(:PULL, zap_domain: "a domain").bind(endpoint_for(:tcp))
    push = open_socket(:PUSH).connect(pull.last_endpoint)
    push << "hello"
    frame = pull.recv_frame(timeout: 5)
    assert_equal %w[World anna PUSH],
      %w[Hello User-Id Socket-Type].map { |name| frame.property(name) }
    assert_nil frame.property("No-Such")
  end

  test "NULL: an authenticator is asked where there is a domain, and decides by it" do
    zap = open_socket(:REP).bind("inproc://zeromq.zap.01")
    asked = Queue.new
    in_thread do
      zap.serve do |version, id, domain, _address, _identity, mechanism|
        asked << [domain, mechanism]
        [version, id, *((domain == "right") ? ["200", "OK", "", ""] : ["400", "No", "", ""])]
      end
    end
    free, right, wrong =
      [{}, {zap_domain: "right"}, {zap_domain: "wrong"}].map do |options|
        open_socket(:PULL, **options).bind(endpoint_for(:tcp))
      end
    assert_flows open_socket(:PUSH).connect(free.last_endpoint), free
    assert_empty asked, "without a domain no request is sent"
    assert_flows open_socket(:PUSH).connect(right.last_endpoint), right
    assert_equal %w[right NULL], asked.pop
    # It may be refused before it sends. Then it has no peer.
    open_socket(:PUSH, linger: 0).connect(wrong.last_endpoint).send(
      "hello", timeout: 0.5, exception: false
    )
    assert_equal %w[wrong NULL], asked.pop
    assert_nil wrong.recv(timeout: 0.2, exception: false)
  end

  each_transport("a reconnect_interval of nil: a lost connection is not made again", only: %i[
    tcp ipc
  ]) do |transport|
    pull =
      open_socket(:PULL).bind((transport == :tcp) ? "tcp://#{own_host}:*" : endpoint_for(transport))
    endpoint = pull.last_endpoint
    stays, comes =
      [{reconnect_interval: nil}, {reconnect_interval: 0.01}].map do |options|
        open_socket(:PUSH, linger: 0, immediate: true, **options).connect(endpoint)
      end
    [stays, comes].each { |push| assert_flows push, pull }
    pull.close
    [stays, comes].each { |push| eventually("the loss was not seen") { !push.writable? } }
    assert_flows comes, bound_when_free(endpoint)
    assert_nil stays.wait_writable(0.2)
  end

  %i[ROUTER DEALER].each do |type|
    each_transport("a #{type} with probe_router says an empty hello to a ROUTER", only: %i[tcp
      ipc]) do |transport|
      router = open_socket(:ROUTER).bind(endpoint_for(transport))
      prober = open_socket(type, probe_router: true, routing_id: "X").connect(router.last_endpoint)
      assert_equal ["X", ""], router.recv(timeout: 5)
      router << ["X", "hello"]
      assert_equal "hello", [*prober.recv(timeout: 5)].last
    end
  end

  %i[ipc ipc_file].each do |transport|
    test "an #{transport} endpoint can be bound again after its socket was closed" do
      endpoint = endpoint_for(transport)
      2.times do
        pull = bound_when_free(endpoint)
        assert_flows open_socket(:PUSH).connect(pull.last_endpoint), pull
        pull.close
      end
    end
  end

  test "a high-water mark that is set before connecting counts" do
    push, =
      connected_pair(
        :PUSH,
        :PULL,
        transport: :inproc,
        bind_options: {
          send_hwm: 2
        },
        connect_options: {
          recv_hwm: 2
        }
      )
    assert_equal 4, how_many(push)
  end

  # libzmq 4.3 changes pipes that it may be freeing: memory is used after free, and a sender may
  # wait for ever.
  each_transport "a high-water mark is fixed by the first bind or connect" do |transport|
    push = open_socket(:PUSH)
    push.send_hwm = 5
    push.bind(endpoint_for(transport))
    pull = open_socket(:PULL).connect(push.last_endpoint)
    push.unbind(push.last_endpoint)
    [-> { push.send_hwm = 6 }, -> { pull.set(:recv_hwm, 6) },
      -> { pull.send_hwm = 6 }].each do |change|
      assert_named(
        Godwit::StateError,
        /fixed by the first bind or connect: give it to the constructor/,
        operation: :set,
        &change
      )
    end
    assert_equal [5, 1000], [push.send_hwm, pull.recv_hwm]
  end

  each_transport("a REP gives the whole envelope back, and shows its user nothing of " \
    "it") do |transport|
    rep = open_socket(:REP).bind(endpoint_for(transport))
    dealer = open_socket(:DEALER).connect(rep.last_endpoint)
    dealer << ["one", "two", "", "question"]
    assert_equal "question", rep.recv(timeout: 5)
    rep << ["the", "answer"]
    assert_equal ["one", "two", "", "the", "answer"], dealer.recv(timeout: 5)
  end

  each_transport("a REP that binds takes requests from its peers in turn") do |transport|
    rep = open_socket(:REP).bind(endpoint_for(transport))
    clients =
      Array.new(3) { |number| open_socket(:REQ).connect(rep.last_endpoint) << "from #{number}" }
    clients.size.times { rep.send("to #{rep.recv(timeout: 5)}") }
    assert_equal ["to from 0", "to from 1", "to from 2"],
      clients.map { |client| client.recv(timeout: 5) }
  end

  %i[DEALER PUSH].each do |type|
    test "a #{type} has no peer after it has disconnected, and a peer after it reconnects" do
      receiver = open_socket((type == :PUSH) ? :PULL : :DEALER).bind(endpoint_for(:inproc))
      sender = open_socket(type).connect(receiver.last_endpoint)
      sender << "taken"
      assert_equal "taken", receiver.recv(timeout: 5)
      sender.disconnect(receiver.last_endpoint)
      eventually("it still has a peer") { !sender.writable? }
      assert_equal :wait_writable, sender.send_nonblock("nobody there", exception: false)
      assert_flows sender.connect(receiver.last_endpoint), receiver
    end
  end

  test "tcp_accept_filter accepts those addresses only" do
    served = open_socket(:PULL, tcp_accept_filter: "127.0.0.1").bind(endpoint_for(:tcp))
    assert_flows open_socket(:PUSH).connect(served.last_endpoint), served
    closed = open_socket(:PULL, tcp_accept_filter: "10.0.0.0/8").bind(endpoint_for(:tcp))
    open_socket(:PUSH, linger: 0).connect(closed.last_endpoint) << "from 127.0.0.1"
    assert_nil closed.recv(timeout: 0.3, exception: false)
  end

  private

  # close does not wait for libzmq's thread, which gives the endpoint back.
  def bound_when_free(endpoint)
    pull = open_socket(:PULL)
    eventually("#{endpoint} stays taken") do
      pull.bind(endpoint)
    rescue Godwit::AddressInUseError
      nil
    end
  end

  # @return [Integer] messages that go until the socket would wait
  def how_many(sender)
    (0..).find { |number| sender.send_nonblock(number.to_s, exception: false) == :wait_writable }
  end
end
