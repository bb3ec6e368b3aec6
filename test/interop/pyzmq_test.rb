# frozen_string_literal: true

# libzmq: test_heartbeats

require "test_helper"
require "json"

# What Godwit adds to libzmq, such as its PUB, formats and certificates, works with pyzmq. No test
# here is about libzmq alone. czmq_test.rb tests CZMQ's certificates.
class InteropPyzmqTest < Godwit::TestCase
  PYTHON = "/usr/bin/python3" # other Pythons do not find Debian's package python3-zmq
  PATIENCE = 20
  PRELUDE = <<~PYTHON
    import json, select, sys, time, zmq, zmq.auth
    context = zmq.Context()
    given = json.loads(sys.argv[1])

    def socket(type, connect=None, **options):
        one = context.socket(getattr(zmq, type))
        one.linger = 0
        one.rcvtimeo = one.sndtimeo = 20000
        for name, value in options.items():
            one.setsockopt(getattr(zmq, name), value.encode() if isinstance(value, str) else value)
        one.connect(connect) if connect else one.bind("tcp://127.0.0.1:*")
        return one

    def say(value):
        print(json.dumps(value), flush=True)

    def has_input(): # also at the end of the input
        return select.select([sys.stdin], [], [], 0)[0]
  PYTHON

  # @return [String, nil] why the tests cannot use pyzmq; nil: they can
  def self.missing
    return @missing if defined?(@missing)
    there = File.executable?(PYTHON) &&
      system(PYTHON, "-c", "import zmq", out: File::NULL, err: File::NULL)
    @missing = there ? nil : "pyzmq is not there: #{PYTHON} cannot import zmq (Debian: python3-zmq)"
  end

  def setup
    super
    skip self.class.missing if self.class.missing
  end

  # Starts a program in Python. In it `given` is a dict of these keywords.
  # @return [Child]
  def python(program, **given)
    start_command([PYTHON, "-c", PRELUDE + program, JSON.generate(given)])
  end

  # @return [Object] the next value that the program has passed to `say`
  def said(child)
    child.wait_for("\n")
    JSON.parse(child.stdout.slice!(/.*\n/))
  end

  %i[godwit python].each do |binder|
    test "PUB counts and serves pyzmq's XSUB, which asks by message, #{binder} binds" do
      pub = open_socket(:PUB)
      endpoint = pub.bind(endpoint_for(:tcp)).last_endpoint if binder == :godwit
      child = python(<<~PYTHON, endpoint: endpoint)
        xsub = socket("XSUB", given["endpoint"])
        say(xsub.last_endpoint.decode())
        xsub.send(b"\\x01a.")
        # A bound SUB sends its subscriptions to a connected PUB only during a call on the SUB.
        while not has_input():
            xsub.poll(50)
        xsub.send(b"a message that a PUB has no use for")
        xsub.send(b"\\x01b.")
        say([xsub.recv().decode(), xsub.recv().decode()])
      PYTHON
      bound = said(child)
      pub.connect(bound) unless endpoint
      pub.wait_connected(timeout: PATIENCE)
      child.stdin.puts("go on")
      pub.wait_connected(count: 2, timeout: PATIENCE)
      pub << "c.1" << "a.1" << "b.1"
      assert_equal %w[a.1 b.1], said(child)
      assert_equal [:writable], pub.events, "a PUB shows nothing to receive"
      assert_child child.finish
    end
  end

  test "format: :json is pyzmq's send_json and recv_json" do
    rep, router, pub, sub = %i[REP ROUTER PUB SUB].map do |type|
      open_socket(type, format: :json).bind(endpoint_for(:tcp))
    end
    sub.subscribe("price.")
    in_thread { rep.serve { |value| (value == "no") ? KeyError.new("no") : [value, nil] } }
    in_thread { router.serve { |*front, value| [*front, [value]] } }
    endpoints = {rep: rep, router: router, pub: pub, sub: sub}.transform_values(&:last_endpoint)
    child = python(<<~PYTHON, **endpoints)
      rep, router = socket("REQ", given["rep"]), socket("REQ", given["router"])
      for value in ({"größe": [1, 2.5, True]}, None, "x"):
          rep.send_json(value)
          router.send_json(value)
          say([value, rep.recv_json(), router.recv_json()])
      rep.send_json("no")
      say(rep.recv().hex())
      sub, pub = socket("SUB", given["pub"], SUBSCRIBE="price."), socket("PUB", given["sub"])
      say([sub.recv_string(), sub.recv_json()])
      while not has_input():
          pub.send_string("price.usd", zmq.SNDMORE)
          pub.send_json({"value": 102})
          time.sleep(0.01)
    PYTHON
    [{"größe" => [1, 2.5, true]}, nil, "x"].each do |value|
      assert_equal [value, [value, nil], [value]], said(child)
    end
    assert_equal "\xC1godwit/error\nKeyError\nno".b, [said(child)].pack("H*")
    pub.wait_connected(timeout: PATIENCE)
    pub << ["price.eur", {value: 101}]
    assert_equal ["price.eur", {"value" => 101}], said(child)
    assert_equal ["price.usd", {value: 102}], sub.recv(timeout: PATIENCE)
    assert_child child.finish
  end

  test "heartbeats detect that pyzmq has stopped, and it returns" do
    ours = open_socket(:DEALER, heartbeat_interval: 0.1, heartbeat_timeout: 0.2)
    plain = open_socket(:DEALER)
    endpoints = [ours, plain].map { |socket| socket.bind(endpoint_for(:tcp)).last_endpoint }
    child = python(<<~PYTHON, endpoints: endpoints)
      ours, plain = [socket("DEALER", endpoint) for endpoint in given["endpoints"]]
      say(ours.recv().decode())
    PYTHON
    [ours, plain].each { |socket| assert socket.wait_writable(PATIENCE) }
    child.signal(:STOP)
    eventually("the connection of a stopped process is kept") { !ours.writable? }
    assert plain.writable?, "without heartbeats no side can detect it"
    child.signal(:CONT)
    # A stall of the machine may end the connection again, so the test repeats the send.
    eventually do
      ours.send("welcome back", timeout: 0, exception: false)
      child.ended?
    end
    assert_equal "\"welcome back\"\n", assert_child(child.finish).stdout
  end

  test "pyzmq loads what Godwit wrote, and Godwit what pyzmq wrote" do
    anna = Godwit::Cert.new("anna", metadata: {"email" => "a@b", "said" => 'so "it" is'})
    Dir.mkdir(path("theirs"))
    metadata = {"full name" => "Örs \"the\" Tester", "email" => "o@b"}
    given = {paths: anna.save(scratch_dir), folder: path("theirs"), metadata: metadata}
    child = python(<<~PYTHON, **given)
      loaded = [[key and key.decode() for key in zmq.auth.load_certificate(path)]
          for path in given["paths"]]
      files = zmq.auth.create_certificates(given["folder"], "ors", given["metadata"])
      say([*loaded, [str(path) for path in files]])
    PYTHON
    public_keys, keys, files = said(child)
    assert_child child.finish
    assert_equal [[anna.public_key, nil], [anna.public_key, anna.keypair.secret_key]],
      [public_keys, keys]
    cert = Godwit::Cert.load(files[0])
    assert_equal ["ors", {}, false], [cert.name, cert.metadata, cert.secret?], "as pyzmq has it"
    error = assert_raises(Godwit::CertError) { Godwit::Cert.load(files[1]) }
    assert_match(/chmod 600 .*pyzmq/, error.message)
    File.chmod(0o600, files[1])
    secret = Godwit::Cert.load(files[1])
    assert_equal [cert.public_key, metadata], [secret.public_key, secret.metadata]
    assert_equal ["ors"], Godwit::CertStore.new(path("theirs")).map(&:name)
  end
end
