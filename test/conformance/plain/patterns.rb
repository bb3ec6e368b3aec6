# frozen_string_literal: true

# Every pattern and every socket type.

Plain.each_transport "requests and replies, of several frames too, also empty ones" do |transport|
  rep, req = connected_pair(:REP, :REQ, transport: transport)
  ["question", ["a", "b"], ["", "b"], ["a", ""], ["", ""], ["", "", "", "x"]].each do |message|
    assert_flows(req, rep, message)
    assert_flows(rep, req, message.reverse)
  end
end

Plain.each_transport "PUSH to PULL: messages arrive in order, either side bound" do |transport|
  [%i[PUSH PULL], %i[PULL PUSH]].each do |types|
    one, other = connected_pair(*types, transport: transport)
    push, pull = (one.type == :PUSH) ? [one, other] : [other, one]
    1000.times { |i| push << i.to_s }
    assert_equal Array.new(1000) { |i| i.to_s }, take(pull, 1000)
  end
end

Plain.each_transport "a PAIR sends in both directions, at any time" do |transport|
  a, b = connected_pair(:PAIR, :PAIR, transport: transport)
  b << "1" << ["2", ""]
  assert_equal ["1", ["2", ""]], take(a, 2)
  a << "3" << "4"
  b << "5"
  assert_equal %w[3 4], take(b, 2)
  assert_equal "5", a.recv(timeout: 5)
end

Plain.each_transport "a ROUTER names its peers, and sends to the one that it names" do |transport|
  router = open_socket(:ROUTER).bind(endpoint_for(transport))
  dealers = %w[one two].map do |id|
    open_socket(:DEALER, routing_id: id).connect(router.last_endpoint)
  end
  dealers.each { |dealer| dealer << ["hello", dealer.routing_id] }
  assert_equal [["one", "hello", "one"], ["two", "hello", "two"]], take(router, 2).sort
  router << ["two", "for two"] << ["one", "for one", ""]
  assert_equal ["for one", ""], dealers.first.recv(timeout: 5)
  assert_equal "for two", dealers.last.recv(timeout: 5)
end

Plain.each_transport "a topic is the start of a message's first frame" do |transport|
  pub, sub = connected_pair(:PUB, :SUB, transport: transport)
  sub.subscribe("a.", "sync") # the PUB gets the subscription to "sync" last
  synchronize(pub, sub)
  pub << "a" << "b.1" << "a.1" << "xa." << "A." << "a.2" << ["b", "a."] << ["a.", ""]
  assert_equal ["a.1", "a.2", ["a.", ""]], take(sub, 3)
end

Plain.each_transport "a topic that was subscribed to twice is taken back twice" do |transport|
  xpub, sub = connected_pair(:XPUB, :SUB, transport: transport)
  sub.subscribe("a", "a", "b").unsubscribe("a")
  assert_equal ["\x01a", "\x01b"], take(xpub, 2)
  xpub << "a1" << "b1"
  assert_equal %w[a1 b1], take(sub, 2)
  sub.unsubscribe("a")
  assert_equal "\x00a", xpub.recv(timeout: 5)
  xpub << "a2" << "b2"
  assert_equal "b2", sub.recv(timeout: 5)
end

Plain.each_transport "XPUB, XSUB: 1 and the topic subscribe, 0 and the topic end it" do |transport|
  xpub, xsub = connected_pair(:XPUB, :XSUB, transport: transport)
  up = ["\x01a", "\x01\xff\x00".b, "\x00a", "no subscription", ["two", "frames"]]
  up.each { |message| xsub << message }
  assert_equal up, take(xpub, 5)
  xpub << "a" << "\xff\x00body".b
  assert_equal "\xff\x00body".b, xsub.recv(timeout: 5)
end

Plain.each_transport "an XSUB subscribes at a PUB, which drops its messages" do |transport|
  pub, xsub = connected_pair(:PUB, :XSUB, transport: transport)
  xsub << "hello" << ["two", "frames"] << "\x01sync"
  synchronize(pub, xsub)
  xsub << "\x01a" << "\x00sync" << "\x01b"
  eventually { pub.send("b") && xsub.wait_readable(0.01) }
  pub << ["a", "1"]
  nil until (message = xsub.recv(timeout: 5)) != "b"
  assert_equal ["a", "1"], message
  refute_predicate pub, :readable?
end

Plain.scenario "a STREAM announces each connection, and names its bytes' peer" do
  a, b = connected_pair(:STREAM, :STREAM)
  (a_id, notice), (b_id, other) = a.recv(timeout: 5), b.recv(timeout: 5)
  assert_equal ["", "", 5, 5], [notice, other, a_id.bytesize, b_id.bytesize]
  a << [a_id, "hello"]
  assert_equal [b_id, "hello"], b.recv(timeout: 5)
  b << [b_id, ""] # libzmq closes the connection in a later call on this STREAM
  eventually { b.events && a.readable? }
  assert_equal [a_id, ""], a.recv(timeout: 5)
end
