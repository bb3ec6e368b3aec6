# frozen_string_literal: true

# libzmq: test_router_mandatory

require_relative "case"

# Wrong calls of sockets that plain/misuse.rb does not test.
class MisuseTest < Conformance::Case
  under_gc_stress

  test "calls that mruby lacks, out of turn, on the wrong type and after close" do
    assert_raises(Godwit::StateError) { connected_pair(:REP, :REQ).last.recv_into(+"") }
    push = open_socket(:PUSH).bind(endpoint_for(:inproc))
    assert_named(Godwit::UnsupportedError, /a PUSH only sends/) { push.recv_into(+"") }
    assert_named(Godwit::UnsupportedError, /a PUSH only sends/) { push.each { flunk } }
    socket = open_socket(:DEALER).tap(&:close)
    [-> { socket.recv_into(+"") }, -> { socket.encoding }, -> { socket.encoding = "UTF-8" },
      -> { socket.wait_connected }, -> { socket.recv_frame }, -> { socket.recv_frames },
      -> { socket.recv_message }, -> { socket.send_frame("x", more: true) },
      -> { socket.send_frame("x") }].each { |call| assert_raises(Godwit::ClosedError, &call) }
  end

  each_transport("a mandatory ROUTER to a peer that has gone") do |transport|
    router, dealer = connected_pair(:ROUTER, :DEALER, transport: transport,
      bind_options: {mandatory: true}, connect_options: {routing_id: "peer"})
    dealer << "before"
    assert_equal ["peer", "before"], router.recv(timeout: 5)
    dealer.close
    assert_raises(Godwit::UnreachableError) do
      loop { router.send(%w[peer gone?], timeout: 5) && Thread.pass }
    end
    batch = assert_raises(Godwit::UnreachableError) { router.send_many([["nobody", "x"]]) }
    assert_equal 0, batch.sent
  end

  test "a PLAIN server that enforces a domain needs a domain" do
    rep = open_socket(:REP, plain_server: true, zap_enforce_domain: true)
    says = /zap_domain: "name"/
    assert_named(Godwit::OptionError, says) { rep.bind("tcp://127.0.0.1:*") }
    assert_named(Godwit::OptionError, says) { rep.connect("tcp://127.0.0.1:5555") }
    rep.zap_domain = "global"
    rep.bind("tcp://127.0.0.1:*")
  end
end
