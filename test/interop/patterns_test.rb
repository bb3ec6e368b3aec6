# frozen_string_literal: true

require_relative "interop_case"

# Each pattern with pyzmq on the other side: over tcp and ipc, either side binding, both sending.
class InteropPatternsTest < InteropCase
  each_binder "REQ asks pyzmq's REP" do |transport, binder|
    req = open_socket(:REQ)
    rep = python.socket(:REP)
    join(req, rep, binder: binder, transport: transport)
    3.times do |number|
      req.send "question #{number}"
      assert_equal ["question #{number}"], rep.recv
      rep.send "answer", number.to_s
      assert_equal ["answer", number.to_s], req.recv(timeout: PATIENCE)
    end
  end

  each_binder "REP answers pyzmq's REQ" do |transport, binder|
    rep = open_socket(:REP)
    req = python.socket(:REQ)
    join(rep, req, binder: binder, transport: transport)
    3.times do |number|
      req.send "question", number.to_s
      assert_equal ["question", number.to_s], rep.recv(timeout: PATIENCE)
      rep.send "answer #{number}"
      assert_equal ["answer #{number}"], req.recv
    end
  end

  each_binder "DEALER with a routing id talks with pyzmq's ROUTER" do |transport, binder|
    dealer = open_socket(:DEALER, routing_id: "godwit")
    router = python.socket(:ROUTER)
    join(dealer, router, binder: binder, transport: transport)
    dealer << "one" << ["two", ""]
    assert_equal ["godwit", "one"], router.recv
    assert_equal ["godwit", "two", ""], router.recv
    router.send "godwit", "back"
    router.send "godwit", "", "again"
    assert_equal "back", dealer.recv(timeout: PATIENCE)
    assert_equal ["", "again"], dealer.recv(timeout: PATIENCE)
  end

  each_binder "ROUTER talks with pyzmq's DEALER" do |transport, binder|
    router = open_socket(:ROUTER, mandatory: true)
    dealer = python.socket(:DEALER, ROUTING_ID: "python")
    join(router, dealer, binder: binder, transport: transport)
    dealer.send "one"
    assert_equal ["python", "one"], router.recv(timeout: PATIENCE)
    router << ["python", "back"] << ["python", "", "again"]
    assert_equal ["back"], dealer.recv
    assert_equal ["", "again"], dealer.recv
  end

  each_binder "ROUTER serves pyzmq's REQ, with the empty frame that it puts in " \
    "front" do |transport, binder|
    router = open_socket(:ROUTER)
    req = python.socket(:REQ, ROUTING_ID: "python")
    join(router, req, binder: binder, transport: transport)
    req.send "question"
    assert_equal ["python", "", "question"], router.recv(timeout: PATIENCE)
    router.send ["python", "", "answer"]
    assert_equal ["answer"], req.recv
  end

  each_binder "PUB publishes to pyzmq's SUB, which unsubscribes" do |transport, binder|
    pub = open_socket(:PUB)
    sub = python.socket(:SUB)
    %w[a. b.].each { |topic| sub.subscribe(topic) }
    join(pub, sub, binder: binder, transport: transport)
    tended(sub) { pub.wait_connected(count: 2, timeout: 0.05) }
    pub << ["a.1", "body"] << "c.1" << "b.1"
    assert_equal [["a.1", "body"], ["b.1"]], [sub.recv, sub.recv]

    sub.unsubscribe("b.")
    eventually("pyzmq still gets b. after it unsubscribed") do
      pub << "b.2" << "a.2"
      sub.recv == ["a.2"] || (sub.recv && false)
    end
  end

  each_binder "SUB subscribes to pyzmq's PUB and unsubscribes" do |transport, binder|
    sub = open_socket(:SUB, subscribe: %w[a. b.])
    pub = python.socket(:PUB)
    join(sub, pub, binder: binder, transport: transport)
    # b. is asked for last: when it arrives, a. would too.
    published(-> { sub.recv(timeout: 0.05, exception: false) }) { pub.send "b.0" }
    [["a.1", "body"], ["c.1"], ["b.1"]].each { |frames| pub.send(*frames) }
    assert_equal [["a.1", "body"], "b.1"], Array.new(2) { next_but(sub, "b.0") }

    sub.unsubscribe("b.")
    number = 1
    eventually("b. still arrives after it was unsubscribed") do
      number += 1
      pub.send "b.#{number}"
      pub.send "a.#{number}"
      first = next_but(sub, "b.0")
      assert_equal "a.#{number}", (first == "b.#{number}") ? next_but(sub, "b.0") : first
      first == "a.#{number}"
    end
  end

  # A bound SUB sends its subscriptions to a connected PUB only during a call on the SUB. Calls it
  # until the block no longer times out.
  def tended(theirs)
    eventually("pyzmq's subscriptions never arrived") do
      theirs.recv(timeout: 0)
      yield
    rescue Godwit::TimeoutError
      false
    end
  end

  # Drops the messages that were sent only to see whether any arrives.
  def next_but(sub, probe)
    loop do
      message = sub.recv(timeout: PATIENCE)
      return message unless message == probe
    end
  end

  each_binder "PUB counts and serves pyzmq's XSUB, which asks by message" do |transport, binder|
    pub = open_socket(:PUB)
    xsub = python.socket(:XSUB)
    join(pub, xsub, binder: binder, transport: transport)
    xsub.send "\x01a."
    tended(xsub) { pub.wait_connected(timeout: 0.05) }
    xsub.send "a message that a PUB has no use for"
    xsub.send "\x01b."
    pub.wait_connected(count: 2, timeout: PATIENCE)
    pub << "c.1" << "a.1" << "b.1"
    assert_equal [["a.1"], ["b.1"]], [xsub.recv, xsub.recv]
    assert_equal [:writable], pub.events, "a PUB shows nothing to receive"
  end

  each_binder "XPUB receives the subscriptions of pyzmq's SUB" do |transport, binder|
    xpub = open_socket(:XPUB)
    sub = python.socket(:SUB, SUBSCRIBE: "a.")
    join(xpub, sub, binder: binder, transport: transport)
    assert_equal "\x01a.", tended(sub) { xpub.recv(timeout: 0.05) }
    xpub << "b.1" << ["a.1", "body"]
    assert_equal ["a.1", "body"], sub.recv
    sub.unsubscribe("a.")
    assert_equal "\x00a.", xpub.recv(timeout: PATIENCE)
  end

  each_binder "XSUB subscribes to pyzmq's XPUB, messages go both ways" do |transport, binder|
    xsub = open_socket(:XSUB)
    xpub = python.socket(:XPUB)
    join(xsub, xpub, binder: binder, transport: transport)
    xsub.wait_connected(timeout: PATIENCE)
    xsub.send "\x01a."
    assert_equal ["\x01a."], xpub.recv
    xsub.send "up"
    assert_equal ["up"], xpub.recv
    xpub.send "b.1"
    xpub.send "a.1", "down"
    assert_equal ["a.1", "down"], xsub.recv(timeout: PATIENCE)
    xsub.send "\x00a."
    assert_equal ["\x00a."], xpub.recv
  end

  each_binder "PUSH fills pyzmq's PULL" do |transport, binder|
    push = open_socket(:PUSH)
    pull = python.socket(:PULL)
    join(push, pull, binder: binder, transport: transport)
    push.send_many [*"1".."50", ["end", ""]]
    assert_equal [*("1".."50").zip, ["end", ""]], Array.new(51) { pull.recv }
  end

  each_binder "PULL drains pyzmq's PUSH" do |transport, binder|
    pull = open_socket(:PULL)
    push = python.socket(:PUSH)
    join(pull, push, binder: binder, transport: transport)
    20.times { |number| push.send number.to_s }
    messages = []
    messages.concat(pull.recv_many(timeout: PATIENCE)) while messages.size < 20
    assert_equal ("0".."19").to_a, messages
  end

  each_binder "PAIR talks with pyzmq's PAIR" do |transport, binder|
    ours = open_socket(:PAIR)
    theirs = python.socket(:PAIR)
    join(ours, theirs, binder: binder, transport: transport)
    ours << "hello" << ["a", "", "b"]
    theirs.send "hello yourself"
    theirs.send "", "x"
    assert_equal [["hello"], ["a", "", "b"]], [theirs.recv, theirs.recv]
    assert_equal ["hello yourself", ["", "x"]],
      [ours.recv(timeout: PATIENCE), ours.recv(timeout: PATIENCE)]
  end

  each_binder "SUB is known to pyzmq's XPUB once it is connected" do |transport, binder|
    sub = open_socket(:SUB, subscribe: "a.")
    xpub = python.socket(:XPUB)
    join(sub, xpub, binder: binder, transport: transport)
    sub.wait_connected(timeout: PATIENCE)
    assert_equal ["\x01a."], xpub.recv
    sub.subscribe("b.").unsubscribe("a.")
    assert_equal [["\x01b."], ["\x00a."]], [xpub.recv, xpub.recv]
    xpub.send "a.1"
    xpub.send "b.1"
    assert_equal "b.1", sub.recv(timeout: PATIENCE)
  end

  test "REQ and REP over an ipc path in the file system" do
    rep = open_socket(:REP)
    req = python.socket(:REQ)
    join(rep, req, transport: :ipc_file)
    req.send "hello"
    assert_equal "hello", rep.recv(timeout: PATIENCE)
    rep.send "world"
    assert_equal ["world"], req.recv
  end

  test "PUSH deals its messages out to two pyzmq PULL in turn" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    pulls = Array.new(2) { python.socket(:PULL).connect(push.last_endpoint) }
    push.wait_connected(count: 2, timeout: PATIENCE)
    push.send_many(("0".."9").to_a)
    shares = pulls.map { |pull| Array.new(5) { pull.recv.first } }
    assert_equal ("0".."9").to_a, shares.flatten.sort
    shares.each do |share|
      assert_equal 1, share.map { |text| text.to_i % 2 }.uniq.size, "not in turn: #{shares}"
    end
  end

  test "PULL receives fairly from two pyzmq processes" do
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    [python, another_python].each_with_index do |peer, number|
      push = peer.socket(:PUSH).connect(pull.last_endpoint)
      5.times { |message| push.send "#{number}#{message}" }
    end
    messages = Array.new(10) { pull.recv(timeout: PATIENCE) }
    %w[0 1].each do |peer|
      assert_equal ("0".."4").map { |message| peer + message },
        messages.select { |message| message.start_with?(peer) }
    end
  end
end
