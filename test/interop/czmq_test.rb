# frozen_string_literal: true

# libzmq: test_security_plain, test_security_curve

require_relative "interop_case"
require_relative "czmq_peer"

# CZMQ on the other side: its zmsg and zframe over the wire, its encoding of messages, its
# authenticator.
class InteropCzmqTest < InteropCase
  BINARY = (0..255).to_a.pack("C*").freeze
  SHAPES =
    [
      [""], ["", ""], ["a", "", "b"], ["", "a", ""], [BINARY], [BINARY, "", BINARY.reverse], ["\0"],
      ["grün"], ["x" * 254], ["x" * 255], ["x" * 256], ["x" * 8192, "y" * 8193],
      Array.new(100) { |number| number.to_s * number }
    ].map { |frames| frames.map(&:b).freeze }.freeze
  MIB = Random.new(1).bytes(1 << 20).freeze

  class << self
    def other = :czmq

    def missing = Godwit::TestSupport::CzmqPeer.missing
  end

  def czmq
    @czmq ||= begin
      child =
        start_command(
          [Godwit::TestSupport::CzmqPeer.program], deadline: Godwit::TestSupport::Peer::DEADLINE
        )
      Godwit::TestSupport::CzmqPeer.new(child).tap { |peer| (@peers ||= []) << peer }
    end
  end

  def theirs_as_ours(keys) = Godwit::Curve::Keypair.new(public_key: keys[0], secret_key: keys[1])

  # One key pair made by each side.
  def keypairs
    [Godwit::Curve.keypair, theirs_as_ours(czmq.keypair)].shuffle(
      random: Random.new(Minitest.seed.to_i)
    )
  end

  def curve_server(keys)
    {curve_server: true, curve_publickey: keys.public_key, curve_secretkey: keys.secret_key}
  end

  def curve_client(keys, server_key)
    {
      curve_publickey: keys.public_key, curve_secretkey: keys.secret_key,
      curve_serverkey: server_key
    }
  end

  def passwords(**known)
    File
      .join(scratch_dir, "passwords")
      .tap { |path| File.write(path, known.map { |name, word| "#{name}=#{word}\n" }.join) }
  end

  # A request and its reply, whichever side is which.
  def assert_talks(ours, theirs)
    if ours.is_a?(Godwit::REQ)
      ours.send ["question", ""]
      assert_equal ["question", ""], theirs.recv
      theirs.send "answer"
      assert_equal "answer", ours.recv(timeout: PATIENCE)
    else
      theirs.send "question", ""
      assert_equal ["question", ""], received(ours)
      ours.send "answer"
      assert_equal ["answer"], theirs.recv
    end
  end

  def assert_times_out(request)
    assert_raises(Godwit::TimeoutError) { request.request("question", timeout: REFUSED) }
  end

  each_binder "zmsg: messages of every shape arrive as they were sent" do |transport, binder|
    ours = open_socket(:DEALER)
    theirs = czmq.socket(:DEALER)
    join(ours, theirs, binder: binder, transport: transport)
    SHAPES.each do |frames|
      ours.send((frames.size == 1) ? frames.first : frames)
      assert_equal frames, theirs.recv
      theirs.send(*frames)
      assert_equal frames, received(ours)
    end
  end

  each_binder "zframe: frame by frame, from and to either side" do |transport, binder|
    ours = open_socket(:PAIR)
    theirs = czmq.socket(:PAIR)
    join(ours, theirs, binder: binder, transport: transport)
    SHAPES.each do |frames|
      frames.each_with_index do |frame, index|
        ours.send_frame(frame, more: index + 1 < frames.size)
      end
      assert_equal frames, theirs.recv_frames
      theirs.send_frames(*frames)
      got = [ours.recv_frame]
      got << ours.recv_frame while got.last.more?
      assert_equal frames, got.map(&:to_s)
    end
  end

  each_binder "frames of 1 MiB, sent in place and looked at in place" do |transport, binder|
    ours = open_socket(:PAIR)
    theirs = czmq.socket(:PAIR)
    join(ours, theirs, binder: binder, transport: transport)
    tracker = ours.send(["head", MIB], track: true)
    assert theirs.recv == ["head", MIB], "to CZMQ"
    assert tracker.wait(PATIENCE)
    theirs.send("head", MIB)
    message = ours.recv_message
    assert message.last.to_s == MIB, "from CZMQ"
    ours.send(message)
    assert theirs.recv == ["head", MIB], "sent on to CZMQ"
  end

  each_binder "PUSH and PULL" do |transport, binder|
    push = open_socket(:PUSH)
    pull = czmq.socket(:PULL)
    join(push, pull, binder: binder, transport: transport)
    push.send_many(["one", ["two", ""], "three"])
    assert_equal [["one"], ["two", ""], ["three"]], Array.new(3) { pull.recv }

    back = open_socket(:PULL)
    theirs = czmq.socket(:PUSH)
    join(back, theirs, binder: binder, transport: transport)
    3.times { |number| theirs.send number.to_s, "" }
    assert_equal [["0", ""], ["1", ""], ["2", ""]], Array.new(3) { received(back) }
  end

  each_binder "REQ asks, REP answers" do |transport, binder|
    req = open_socket(:REQ)
    rep = czmq.socket(:REP)
    join(req, rep, binder: binder, transport: transport)
    2.times { assert_talks req, rep }

    rep = open_socket(:REP)
    req = czmq.socket(:REQ)
    join(rep, req, binder: binder, transport: transport)
    2.times { assert_talks rep, req }
  end

  each_binder "DEALER and ROUTER" do |transport, binder|
    dealer = open_socket(:DEALER, routing_id: "godwit")
    router = czmq.socket(:ROUTER)
    join(dealer, router, binder: binder, transport: transport)
    dealer << ["", "question"]
    assert_equal ["godwit", "", "question"], router.recv
    router.send "godwit", "", "answer"
    assert_equal ["", "answer"], received(dealer)

    router = open_socket(:ROUTER)
    dealer = czmq.socket(:DEALER, identity: "czmq")
    join(router, dealer, binder: binder, transport: transport)
    dealer.send "", "question"
    message = router.recv_message
    assert_equal "czmq", message.unwrap.to_s
    router.send(message.push("answer").wrap("czmq"))
    assert_equal ["", "question", "answer"], dealer.recv
  end

  each_binder "PUB and SUB" do |transport, binder|
    pub = open_socket(:PUB)
    sub = czmq.socket(:SUB, subscribe: "a.")
    join(pub, sub, binder: binder, transport: transport)
    # A SUB that is bound passes its subscriptions on only while it is used.
    got = published(-> { sub.recv(timeout: 0.05) }) { pub << ["b.", "no"] << ["a.1", "yes"] }
    assert_equal ["a.1", "yes"], got

    sub = open_socket(:SUB, subscribe: "a.")
    pub = czmq.socket(:PUB)
    join(sub, pub, binder: binder, transport: transport)
    got = published(-> { sub.recv_multipart(timeout: 0.05, exception: false) }) do
      pub.send "b.", "no"
      pub.send "a.1", "yes"
    end
    assert_equal ["a.1", "yes"], got
  end

  test "encode and zmsg_encode write the same bytes, and read each other's" do
    [[], *SHAPES, ["x" * 70_000, "", "y"]].each do |frames|
      ours = Godwit::Message.new(*frames).encode
      assert_equal frames, Godwit::Message.decode(ours).to_a
      next if frames.empty? # the peer has no word for no frame
      assert_equal czmq.encode(*frames), ours
      assert_equal frames, czmq.decode(ours)
    end
  end

  test "both refuse an encoding that is cut short" do
    ["\x05abc", "\xff\0\0", "\x01a\xff\0\0\1\0abc"].each do |data|
      assert_raises(Godwit::MessageError) { Godwit::Message.decode(data.b) }
      assert_nil czmq.decode(data.b)
    end
  end

  test "an encoded message that CZMQ sent in one frame is decoded from the frame" do
    pull = open_socket(:PULL)
    push = czmq.socket(:PUSH)
    join(pull, push)
    push.send czmq.encode("head", BINARY, "")
    assert_equal ["head", BINARY, ""], Godwit::Message.decode(pull.recv_frame).to_a
  end

  each_binder "PLAIN: CZMQ's authenticator accepts clients with the password" do |transport, binder|
    czmq.authenticate("PLAIN", passwords(anna: "secret"))
    rep = czmq.socket(:REP, plain_server: true)
    req = open_socket(:REQ, plain: %w[anna secret])
    join(req, rep, binder: binder, transport: transport)
    assert_talks req, rep
    assert_equal :plain, req.mechanism
  end

  test "PLAIN: CZMQ's authenticator refuses a wrong password and an unknown name" do
    czmq.authenticate("PLAIN", passwords(anna: "secret"))
    rep = czmq.socket(:REP, plain_server: true)
    endpoint = rep.bind(endpoint_for(:tcp))
    [%w[anna wrong], %w[otto secret]].each do |plain|
      assert_times_out open_socket(:REQ, plain: plain).connect(endpoint)
    end
    assert_nil rep.recv(timeout: 0)
    assert_talks open_socket(:REQ, plain: %w[anna secret]).connect(endpoint), rep
  end

  test "PLAIN: a REP of Godwit that speaks ZAP decides about CZMQ's clients" do
    zap = open_socket(:REP).bind("inproc://zeromq.zap.01")
    # A refused client of libzmq gives up: its later messages have no peer.
    sent = Queue.new
    in_thread do
      zap.serve do |version, id, _domain, _address, _identity, _mechanism, name, password|
        sent.pop
        known = [name, password] == %w[anna secret]
        [version, id, *(known ? ["200", "OK", name, ""] : ["400", "No", "", ""])]
      end
    end
    rep = open_socket(:REP, plain_server: true).bind(endpoint_for(:tcp))
    bad =
      czmq.socket(:REQ, plain_username: "anna", plain_password: "wrong").connect(rep.last_endpoint)
    bad.send "question"
    sent.close
    assert_nil rep.recv(timeout: REFUSED, exception: false)
    good =
      czmq.socket(:REQ, plain_username: "anna", plain_password: "secret").connect(rep.last_endpoint)
    assert_talks rep, good
  end

  each_binder "CURVE: REQ is a client of CZMQ's REP" do |transport, binder|
    server, client = keypairs
    rep = czmq.socket(:REP, **curve_server(server))
    req = open_socket(:REQ, curve: client, server_key: server.public_key)
    join(req, rep, binder: binder, transport: transport)
    assert_talks req, rep
    assert_equal :curve, req.mechanism
  end

  each_binder "CURVE: REP is the server of CZMQ's REQ" do |transport, binder|
    server, client = keypairs
    rep = open_socket(:REP, curve: server)
    req = czmq.socket(:REQ, **curve_client(client, server.public_key))
    join(rep, req, binder: binder, transport: transport)
    assert_talks rep, req
  end

  test "CURVE: either side refuses a client with a wrong server key" do
    server, client = keypairs
    wrong = Godwit::Curve.keypair.public_key
    rep = czmq.socket(:REP, **curve_server(server))
    assert_times_out open_socket(:REQ, curve: client, server_key: wrong).connect(
                       rep.bind(endpoint_for(:tcp))
                     )
    assert_nil rep.recv(timeout: 0)

    ours = open_socket(:REP, curve: server).bind(endpoint_for(:tcp))
    czmq.socket(:REQ, **curve_client(client, wrong)).connect(ours.last_endpoint).send "question"
    assert_nil ours.recv(timeout: REFUSED, exception: false)
  end

  test "CURVE: CZMQ's authenticator accepts only certificates that it has" do
    server, known = keypairs
    folder = scratch_dir
    File.write(
      File.join(folder, "known.txt"), "metadata\ncurve\n    public-key = \"#{known.public_key}\"\n"
    )
    czmq.authenticate("CURVE", folder)
    rep = czmq.socket(:REP, **curve_server(server))
    endpoint = rep.bind(endpoint_for(:tcp))
    assert_talks open_socket(:REQ, curve: known, server_key: server.public_key).connect(endpoint),
      rep
    assert_times_out open_socket(
      :REQ, curve: Godwit::Curve.keypair, server_key: server.public_key
    ).connect(endpoint)
  end
end
