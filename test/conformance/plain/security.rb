# frozen_string_literal: true

# CURVE, PLAIN, keys. libzmq has no security over inproc.

Plain.scenario "CURVE: a client that knows the server's key is served" do
  keys, mine = Godwit::Curve.keypair, Godwit::Curve.keypair
  rep = open_socket(:REP, curve: keys).bind(endpoint_for(:tcp))
  [keys.public_key, keys.raw_public_key].each do |key|
    req = open_socket(:REQ, curve: mine, server_key: key).connect(rep.last_endpoint)
    large = "0123456\0" * (1 << 14)
    assert_flows(req, rep, [large, "", "tail"])
    assert_flows(rep, req, "served")
    assert_equal [:curve, :curve, false], [rep.mechanism, req.mechanism, req.curve_server?]
  end
  assert_predicate rep, :curve_server?
end

Plain.scenario "CURVE: the wrong key, and no key at all, are refused" do
  keys, mine = Godwit::Curve.keypair, Godwit::Curve.keypair
  pull = open_socket(:PULL, curve: keys).bind(endpoint_for(:tcp))
  wrong = open_socket(:PUSH, curve: mine, server_key: mine.public_key, linger: 0)
  none = open_socket(:PUSH, linger: 0)
  [wrong, none].each do |push|
    push.connect(pull.last_endpoint)
    push.send_nonblock("refused", exception: false)
  end
  right = open_socket(:PUSH, curve: mine, server_key: keys.public_key).connect(pull.last_endpoint)
  3.times { |i| assert_flows(right, pull, "served #{i}") }
  assert_nil pull.recv(timeout: 0.1, exception: false)
end

Plain.scenario "an explicit nil for a keyword of security is a variable that is not set" do
  keys = Godwit::Curve.keypair
  {server_key: {curve: keys}, curve: {}, plain: {}, auth: {},
   plain_username: {plain_password: "secret"}}.each do |name, others|
    text = "new: #{name}: is nil: is the variable that holds it set, such as ENV[\"NAME\"]? " \
      "Leave #{name}: out to do without"
    options = {**others, name => nil}
    refused(Godwit::ArgumentValueError, text) { Godwit::PUSH.new(**options) }
    refused(Godwit::ArgumentValueError, text) { Godwit::PUSH.connect("tcp://x:9", **options) }
    refused(Godwit::ArgumentValueError, text) { context.socket(:PULL, **options) }
  end
end

Plain.scenario "CURVE: the keywords name their mistakes" do
  keys = Godwit::Curve.keypair
  refused(Godwit::ArgumentValueError, "new: server_key: goes with curve:, the client's own keys " \
    "(Godwit::Curve.keypair)") { open_socket(:REQ, server_key: keys.public_key) }
  refused(Godwit::CurveKeyError, "curve: takes a Godwit::Curve::Keypair or a Godwit::Cert: got " \
    "String") { open_socket(:REQ, curve: keys.public_key) }
  {"" => "0 bytes that are neither", "x" * 39 => "39 bytes that are neither",
   "x" * 41 => "41 bytes that are neither", "~" * 40 => "40 bytes that are neither",
   "#" * 40 => "40 bytes that are neither", 5 => "Integer",
   [keys.secret_key] => "Array"}.each do |key, got|
    [-> { open_socket(:REQ, curve: keys, server_key: key) }, -> { Godwit::Curve.public_key(key) },
      -> { Godwit::Curve::Keypair.new(secret_key: key) },
      -> { Godwit::Curve::Keypair.new(public_key: key, secret_key: keys.secret_key) }]
      .each do |call|
      error = refused(Godwit::CurveKeyError, "a CURVE key is a String of 40 characters of Z85 or " \
        "of 32 bytes: got #{got}", &call)
      assert_kind_of ArgumentError, error
    end
  end
  assert_raises(Godwit::CurveKeyError) { Godwit::Curve.public_key(nil) } # makes no new key pair
  refused(Godwit::CurveKeyError, "option curve_secret_key (ZMQ_CURVE_SECRETKEY) takes a CURVE " \
    "key: 40 characters of Z85 or 32 raw bytes, not a String of 9 bytes") do
    open_socket(:REQ).curve_secret_key = "Swordfish"
  end
end

Plain.scenario "CURVE: keys" do
  public_key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
  secret_key = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"
  assert_equal public_key, Godwit::Curve.public_key(secret_key)
  raw = Godwit::Z85.decode(secret_key)
  keys = Godwit::Curve::Keypair.new(secret_key: raw)
  assert_equal [public_key, secret_key, raw],
    [keys.public_key, keys.secret_key, keys.raw_secret_key]
  assert_equal "#<Godwit::Curve::Keypair public_key=#{public_key} secret_key=[hidden]>",
    keys.inspect
  assert_predicate keys, :frozen?
  assert_equal keys, Godwit::Curve::Keypair.new(public_key: public_key, secret_key: secret_key)
  refute_equal Godwit::Curve.keypair, Godwit::Curve.keypair
  socket = open_socket(:DEALER)
  assert_nil socket.curve_secret_key
  socket.curve_secret_key = keys.secret_key
  socket.curve_public_key = keys.raw_public_key
  assert_equal [secret_key, public_key], [socket.curve_secret_key, socket.curve_public_key]
end

Plain.scenario "Z85: RFC 32, and what it refuses" do
  bytes = "\x86\x4F\xD2\x6F\xB5\x59\xF7\x5B".b
  assert_equal "HelloWorld", Godwit::Z85.encode(bytes)
  assert_equal bytes, Godwit::Z85.decode("HelloWorld")
  assert_equal "\xff\xff\xff\xff".b, Godwit::Z85.decode("%nSc0")
  assert_equal ["", ""], [Godwit::Z85.encode(""), Godwit::Z85.decode("")]
  [
    [:encode, "abc", "Z85 encodes multiples of 4 bytes: got 3"],
    [:decode, "abcd", "Z85 is a multiple of 5 characters: got 4"],
    [:decode, "abcd~", "no character of Z85: \"~\""],
    [:decode, "%nSc1", "no group of Z85, it stands for more than 4 bytes: \"%nSc1\""]
  ].each do |method, text, message|
    refused(Godwit::ArgumentValueError, message) { Godwit::Z85.__send__(method, text) }
  end
  refused(Godwit::ArgumentTypeError, "decode: Z85 takes a String: got 5 (Integer)") do
    Godwit::Z85.decode(5)
  end
end

Plain.scenario "PLAIN: the authenticator decides by name and password" do
  zap = open_socket(:REP).bind("inproc://zeromq.zap.01")
  pull = open_socket(:PULL, plain_server: true).bind(endpoint_for(:tcp))
  good = open_socket(:PUSH, plain: %w[user secret]).connect(pull.last_endpoint)
  good << "hello"
  assert_equal "user", answer_zap(zap, "secret", 5)
  assert_equal "hello", pull.recv(timeout: 5)
  bad = open_socket(:PUSH, plain: %w[other guess], linger: 0).connect(pull.last_endpoint)
  bad.send_nonblock("refused", exception: false)
  assert_equal "other", answer_zap(zap, "secret", 5)
  assert_flows(good, pull)
  assert_nil pull.recv(timeout: 0.05, exception: false)
  assert_equal [:plain, :plain, true], [pull.mechanism, good.mechanism, pull.plain_server?]
end

Plain.scenario "PLAIN: plain: is a name and a password" do
  [%w[user], "user:secret", ["user", nil], %w[a b c], {user: "x"}, [:user, "secret"]]
    .each do |plain|
    refused(Godwit::ArgumentValueError,
      "new: plain: takes [user name, password], two Strings: got #{plain.class}") do
      open_socket(:REQ, plain: plain)
    end
  end
end
