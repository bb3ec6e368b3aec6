# frozen_string_literal: true

# libzmq: test_sub_forward, test_xpub_manual, test_xpub_nodrop, test_xpub_verbose
# libzmq: test_xpub_welcome_msg

require "test_helper"
require_relative "assertions"

class XpubXsubTest < Godwit::TestCase
  include Conformance::Assertions

  each_transport("an XPUB receives a SUB's subscriptions") do |transport|
    xpub, sub = connected_pair(:XPUB, :SUB, transport: transport)
    sub.subscribe("a", "").unsubscribe("a")
    assert_equal ["\x01a".b, "\x01".b, "\x00a".b], take(xpub, 3)
  end

  each_transport("an XPUB reports a topic once, each subscription when verbose, and each end " \
    "when verboser") do |transport|
    {{} => 2, {xpub_verbose: true} => 3, {xpub_verboser: true} => 4}.each do |options, copies|
      xpub = open_socket(:XPUB, **options).bind(endpoint_for(transport))
      subs = Array.new(2) { open_socket(:SUB, subscribe: "a").connect(xpub.last_endpoint) }
      first = take(xpub, (copies > 2) ? 2 : 1)
      unless copies > 2
        # Both have subscribed once both receive it.
        eventually { xpub.send("a") && subs.all?(&:readable?) }
        refute_predicate xpub, :readable?
      end
      subs.each { |sub| sub.unsubscribe("a") }
      last = take(xpub, (copies == 4) ? 2 : 1)
      assert_equal Array.new(copies) { |i| (i < first.size) ? "\x01a".b : "\x00a".b }, first + last
    end
  end

  each_transport("a subscriber that leaves has unsubscribed") do |transport|
    xpub, sub = connected_pair(:XPUB, :SUB, transport: transport, connect_options: {subscribe: "a"})
    assert_equal "\x01a".b, xpub.recv(timeout: 5)
    sub.close
    assert_equal "\x00a".b, xpub.recv(timeout: 5)
  end

  each_transport("a PUB drops messages of its subscribers, and still publishes") do |transport|
    pub, xsub = connected_pair(:PUB, :XSUB, transport: transport)
    xsub << "hello" << ["two", "frames"] << "\x01a" << "\x01b" << "\x00b" << "bye"
    pub.wait_connected(timeout: 5)
    pub << "a1"
    assert_equal "a1", xsub.recv(timeout: 5)
    refute_predicate pub, :readable?
    assert_raises(Godwit::UnsupportedError) { pub.recv }
  end

  each_transport("an XPUB sends a welcome message") do |transport|
    xpub = open_socket(:XPUB, xpub_welcome_message: "welcome").bind(endpoint_for(transport))
    sub = open_socket(:SUB, subscribe: "welcome").connect(xpub.last_endpoint)
    assert_equal "\x01welcome".b, xpub.recv(timeout: 5) # libzmq welcomes when the XPUB is used
    assert_equal "welcome", sub.recv(timeout: 5)
  end

  each_transport("a manual XPUB decides the subscriptions") do |transport|
    xpub, sub =
      connected_pair(
        :XPUB,
        :SUB,
        transport: transport,
        bind_options: {
          xpub_manual: true
        },
        connect_options: {
          subscribe: "wish"
        }
      )
    assert_equal "\x01wish".b, xpub.recv(timeout: 5)
    xpub.set(:subscribe, "wi") # the peer's topic is the XPUB's choice, not the requested one
    xpub << "wisdom" << "wishes"
    assert_equal "wishes", sub.recv(timeout: 5)
  end

  each_transport("an XPUB that may not drop waits for its subscribers") do |transport|
    xpub = open_socket(:XPUB, xpub_no_drop: true, send_hwm: 5).bind(endpoint_for(transport))
    sub = open_socket(:SUB, subscribe: "", recv_hwm: 5).connect(xpub.last_endpoint)
    assert_equal "\x01".b, xpub.recv(timeout: 5)
    count = fill(xpub)
    assert_raises(Godwit::TimeoutError) do
      loop { xpub.send([count.to_s, ""], timeout: 0.02) && count += 1 }
    end
    assert_equal Array.new(count, &:to_s), take(sub, count).map(&:first)
    assert_same xpub, xpub.wait_writable(5)
    assert_flows(xpub, sub)
  end

  each_transport("a forwarder of XSUB and XPUB") do |transport|
    up, down = open_socket(:XSUB), open_socket(:XPUB)
    up.bind(endpoint_for(transport))
    down.bind(endpoint_for(transport))
    pub = open_socket(:PUB).connect(up.last_endpoint)
    sub = open_socket(:SUB, subscribe: "news").connect(down.last_endpoint)
    up << down.recv(timeout: 5)
    waiting = in_thread { up.recv(timeout: 5) } # brings the subscription to the newcomer
    pub.wait_connected(timeout: 5)
    pub << ["old", "1"] << ["news", "2"]
    down << waiting.value
    assert_equal ["news", "2"], sub.recv(timeout: 5)
  end
end
