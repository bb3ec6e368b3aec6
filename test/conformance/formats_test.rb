# frozen_string_literal: true

require_relative "case"

class FormatsTest < Conformance::Case
  FormatError = Godwit::FormatError
  JSON_VALUES = [{a: [1, {b: nil}]}, [1, 2], [], "grün", "", 5, 1.5, true, false, nil].freeze

  # A format: words joined by commas.
  module Words
    def self.dump(value) = value.join(",")
    def self.load(bytes) = bytes.split(",")
  end

  def pair(binder, connector, transport: :inproc, format: :json, **options)
    connected_pair(binder, connector, transport: transport, format: format, **options)
  end

  each_transport("send takes a value, recv gives it") do |transport|
    push, pull = pair(:PUSH, :PULL, transport: transport)
    JSON_VALUES.each { |value| push << value }
    push.send_many(JSON_VALUES, timeout: 5)
    push.send_nonblock({n: 1}).send({n: 2}, timeout: 5)
    JSON_VALUES.each { |value| same value, pull.recv(timeout: 5) }
    values = []
    values.concat(pull.recv_many(timeout: 5)) while values.size < 12
    assert_equal [*JSON_VALUES, {n: 1}, {n: 2}], values
    push << nil << false << 1
    assert_equal [nil, false, 1], pull.first(3)
    push << "x"
    pull.wait_readable(5)
    assert_equal "x", pull.recv_nonblock
    assert_nil pull.recv(timeout: 0, exception: false)
    assert_nil pull.recv_many(timeout: 0, exception: false)
    assert_raises(Godwit::TimeoutError) { pull.recv(timeout: 0) }
    assert_raises(Godwit::WouldBlock) { pull.recv_nonblock }
  end

  def same(expected, value) = expected.nil? ? assert_nil(value) : assert_equal(expected, value)

  test "each format" do
    {
      :raw => ["\xff\0".b, ""], :text => ["grün", ""], Words => [%w[a b], []],
      Marshal => [{a: :b}, Encoding::UTF_8]
    }.each do |format, values|
      one, other = pair(:PAIR, :PAIR, format: format)
      values.each { |value| same value, one.send(value) && other.recv(timeout: 5) }
      assert_equal values.first, other.format.load(one.format.dump(values.first))
    end
    assert_nil open_socket(:PAIR).format
  end

  # The Gemfile does not list msgpack, so the gem may be absent.
  test "msgpack works where its gem is, and elsewhere the error names it" do
    if Gem::Specification.find_all_by_name("msgpack").any?
      one, other = pair(:PAIR, :PAIR, format: :msgpack)
      one << {a: [1, nil, "grün"]} << Godwit::Frame.new("\xc1") << Godwit::Frame.new("\x01\x02")
      assert_equal({a: [1, nil, "grün"]}, other.recv(timeout: 5))
      2.times { assert_named(FormatError, /no MessagePack/) { other.recv(timeout: 5) } }
      assert_named(FormatError, /cannot hold/) { one << Object.new }
    else
      assert_named(Godwit::ArgumentValueError, /needs the gem msgpack.*gem install msgpack/) do
        open_socket(:PAIR, format: :msgpack)
      end
    end
  end

  test "formats that are refused" do
    {
      :yaml => /takes :json, :msgpack, :raw, :text, or an object with dump and load: got :yaml/,
      "json" => /got "json" \(String\)/, false => /got false/, 5 => /got 5/,
      Object.new => /got #<Object/,
      :marshal => /Marshal.load runs code that the sender.*: use :json or :msgpack.*format: Marshal/
    }.each do |format, says|
      assert_named(Godwit::ArgumentValueError, says, operation: :new) do
        open_socket(:PUSH, format: format)
      end
    end
    not_for = /not for a STREAM/
    assert_named(Godwit::ArgumentValueError, not_for) { open_socket(:STREAM, format: :json) }
  end

  test "request and serve" do
    rep, req = pair(:REP, :REQ)
    in_thread do
      rep.serve(on_error: ->(error, value) { {failed: value, class: error.class.name} }) do |value|
        (value == "bad") ? raise("bad") : value
      end
    end
    [{id: 1}, [1], nil, false, ""].each { |value| same value, req.request(value, timeout: 5) }
    assert_equal({failed: "bad", class: "RuntimeError"}, req.request("bad", timeout: 5))
    assert_equal({failed: "{", class: "Godwit::FormatError"}, req.request(frame("{"), timeout: 5))
    assert_equal({failed: %w[a b], class: "Godwit::FormatError"},
      req.request(Godwit::Message.new("a", "b"), timeout: 5))
    _, unanswered = pair(:REP, :REQ)
    assert_nil unanswered.request("x", timeout: 0, exception: false)
  end

  def frame(bytes) = Godwit::Frame.new(bytes)

  test "a request that does not decode and a reply that does not fit are errors at the client" do
    rep, req = pair(:REP, :REQ)
    in_thread { rep.serve { |value| (value == "nan") ? Float::NAN : "\xC1godwit/error\n" } }
    capture_io do
      {frame("{") => /serve: this value is no JSON/, "nan" => /JSON cannot hold this value/,
       "x" => /JSON cannot hold/}.each do |value, says|
        error = assert_raises(Godwit::RemoteError) { req.request(value, timeout: 5) }
        assert_equal "Godwit::FormatError", error.remote_class
        assert_match says, error.remote_message
      end
      req << "x"
      assert_named(Godwit::RemoteError, /FormatError/, operation: :recv) { req.recv(timeout: 5) }
    end
    rep, req = pair(:REP, :REQ, format: :raw)
    in_thread { rep.serve(&:itself) }
    capture_io do
      assert_named(Godwit::RemoteError, /MessageError: serve: the reply begins with/) do
        req.request("\xC1godwit/error\n", timeout: 5)
      end
    end
  end

  test "serve with messages: true gives the frames, and takes a value" do
    rep, req = pair(:REP, :REQ)
    in_thread { rep.serve(messages: true) { |message| [rep.format.load(message[0].to_s)] } }
    assert_equal [{a: 1}], req.request({a: 1}, timeout: 5)
  end

  test "a ROUTER's routing ids and delimiters are frames, the last element is the value" do
    router = open_socket(:ROUTER, format: :json).bind(endpoint_for(:tcp))
    req, dealer = %i[REQ DEALER].map do |type|
      open_socket(type, format: :json, routing_id: type.to_s).connect(router.last_endpoint)
    end
    req << {n: 1}
    assert_equal ["REQ", "", {n: 1}], router.recv(timeout: 5)
    router << ["REQ", "", [1, 2]]
    assert_equal [1, 2], req.recv(timeout: 5)
    dealer << [1, 2]
    assert_equal ["DEALER", [1, 2]], router.recv(timeout: 5)
    router << ["DEALER", nil]
    assert_nil dealer.recv(timeout: 5)
    dealer << "x"
    message = router.recv_message(timeout: 5)
    assert_equal %w[DEALER "x"], message.to_a
    router << message
    assert_equal "x", dealer.recv(timeout: 5)
    in_thread do
      router.serve { |*front, value| (value == 1) ? KeyError.new("one") : [*front, value] }
    end
    assert_equal [2], req.request([2], timeout: 5)
    assert_named(Godwit::RemoteError, /KeyError: one/) { req.request(1, timeout: 5) }
  end

  test "a topic is a frame before the value, also through XSUB and XPUB" do
    xsub = open_socket(:XSUB, format: :json).bind(endpoint_for(:inproc))
    xpub = open_socket(:XPUB, format: :json).bind(endpoint_for(:inproc))
    pub = open_socket(:PUB, format: :json).connect(xsub.last_endpoint)
    sub = open_socket(:SUB, format: :json, subscribe: "price.").connect(xpub.last_endpoint)
    subscription = xpub.recv(timeout: 5)
    assert_equal "\x01price.", subscription
    xsub << subscription
    pub.wait_connected(timeout: 5)
    pub << ["price.eur", {value: 101}] << ["price.usd", "more", nil]
    2.times { xpub << xsub.recv(timeout: 5) }
    assert_equal ["price.eur", {value: 101}], sub.recv(timeout: 5)
    assert_equal ["price.usd", "more", nil], sub.recv(timeout: 5)
    xpub << [frame("price.")]
    sub.recv(timeout: 5)
    flunk
  rescue FormatError => error
    assert_equal ["price.", ["price."]], [error.bytes, error.frames]
  end

  test "a value without its frames, and frames without a value, are refused" do
    {PUB: "[topic, value]", XPUB: "[topic, value]",
     ROUTER: "[routing id, value]"}.each do |type, form|
      socket = open_socket(type, format: :json)
      [{a: 1}, "t", nil, []].each do |value|
        error = assert_named(Godwit::MessageTypeError, /#{type} sends an Array/) { socket << value }
        assert_includes error.message, form
      end
      assert_named(Godwit::MessageTypeError, /Integer at 0/) { socket << [1, 2] }
    end
  end

  test "a message that does not decode" do
    push, pull = pair(:PUSH, :PULL)
    bad = [frame("{"), frame(""), frame("\xff"), Godwit::Message.new("1", "2")]
    calls = {recv: -> { pull.recv(timeout: 5) }, recv_nonblock: -> { pull.recv_nonblock },
             each: -> { pull.each { flunk } }}
    calls.each do |name, call|
      bad.map(&:dup).each do |message|
        frames = [*message].map { |part| part.to_s.b }
        push << message
        pull.wait_readable(5)
        says = frames.one? ? /no JSON/ : /a message of 2 frames: .* a PULL has one/
        error = assert_named(FormatError, says, operation: name, &call)
        assert_equal [frames, (frames.first if frames.one?)], [error.frames, error.bytes]
        refute_predicate error, :retriable?
        assert_kind_of JSON::ParserError, error.cause if frames.one?
      end
    end
  end

  test "recv_many loses no message of a batch" do
    push, pull = pair(:PUSH, :PULL)
    push << 1 << frame("{") << nil << Godwit::Message.new("a", "b")
    says = /batch has the other values/
    error = assert_named(FormatError, says, operation: :recv_many) { pull.recv_many(timeout: 5) }
    one, first, null, second = error.batch
    assert_equal [1, "{", nil, %w[a b], nil], [one, first.bytes, null, second.frames, second.bytes]
    assert_equal "{", error.bytes
  end

  test "a value that the format cannot hold: nothing is sent" do
    push, pull = pair(:PUSH, :PULL)
    circle = []
    circle << circle
    [Float::NAN, "\xff", circle].each do |value|
      error = assert_named(FormatError, /JSON cannot hold.*convert/, operation: :send) do
        push << value
      end
      assert_equal [nil, []], [error.bytes, error.frames]
    end
    error = assert_named(FormatError, /cannot hold/) { push.send_many([1, Float::NAN]) }
    assert_equal 0, error.sent
    refute_predicate pull, :readable?
    one, = pair(:PAIR, :PAIR, format: Words)
    assert_named(FormatError, /dump of the format .*Words failed: NoMethodError/) { one << 5 }
  end

  test "the calls that name frames do not decode" do
    push, pull = pair(:PUSH, :PULL)
    8.times { |n| push << n }
    assert_equal ["0"], pull.recv_multipart(timeout: 5)
    assert_equal "1", pull.recv_string(timeout: 5)
    assert_equal ["2"], pull.recv_message(timeout: 5).to_a
    assert_equal "3", pull.recv_frame(timeout: 5).to_s
    assert_equal 1, pull.recv_into(buffer = +"", timeout: 5)
    assert_equal "4", buffer
    push.send_frame("{}")
    push << Godwit::Message.new("a", "b")
    assert_equal [5, 6, 7, {}], Array.new(4) { pull.recv(timeout: 5) }
    error = assert_raises(Godwit::MultipartError) { pull.recv_string(timeout: 5) }
    assert_equal %w[a b], error.frames
    assert_nil pull.recv_multipart(timeout: 0, exception: false)
    assert_nil pull.recv_string(timeout: 0, exception: false)
  end
end
