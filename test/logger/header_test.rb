# frozen_string_literal: true

require "test_helper"
require "godwit/logger"

# Pieces of a record's header. The methods of the extension and those in Ruby give the same results.
class LoggerHeaderTest < Godwit::TestCase
  HEADER = Godwit::Logger.const_get(:Header)
  PACKING = Godwit::Logger.const_get(:Packing)
  TEXT = Godwit::Logger.const_get(:Text)
  NATIVE = Godwit::BACKEND == :native
  ID = "0123456789abcdefABCDEF0123456789"

  # @return [Array<Method>] the extension's method, if there is one, and the method in Ruby
  def self.both(object, name) = [object.method(name), object.method(name).super_method].compact

  def self.each_kind(method, name, &block)
    both(HEADER, method).each_with_index do |one, index|
      test("#{index}: #{name}") { instance_exec(one, &block) }
    end
  end

  def text(writer: ID, seq: 7, tseq: 3, t_ns: 1_795_177_867_123_456_789, more: ",")
    %({"v":1,"writer":"#{writer}","seq":#{seq},"tseq":#{tseq},"t_ns":#{t_ns}#{more})
  end

  each_kind :start, "the fields at the start of a header that Godwit wrote" do |start|
    time = 1_795_177_867_123_456_789
    assert_equal [ID, 7, 3, time, nil, nil], start.call(text).to_a
    assert_equal [ID, 7, 3, time, nil, nil], start.call(text.b).to_a
    most = 9_999_999_999_999_999_999
    assert_equal [ID, most, most, most, most, most],
      start.call(
        text(seq: most, tseq: most, t_ns: most,
          more: %(,"mono_ns":#{most},"level":12,"pid":#{most},"thread":1}))
      ).to_a
    assert_equal 1, start.call(text(seq: 1, t_ns: 0, more: ",x\xff".b).b).seq
    [%("mono_ns":-1,"level":1,"pid":1,), %("mono_ns":1,"pid":1,"level":1,),
      %("mono_ns":1,"level":1,"pid":1), %("pid":1,)].each do |more|
      assert_equal [7, nil, nil], start.call(text(more: ",#{more}")).to_a.values_at(1, 4, 5), more
    end
    found = start.call(text)
    assert_predicate found.writer, :frozen?
    assert_equal Encoding::UTF_8, found.writer.encoding
  end

  each_kind :start, "any other header has none" do |start|
    [
      "", "{", text(seq: 0), text(seq: "07"), text(seq: "1" * 20), text(seq: -1),
      text(seq: ""), text(tseq: 0), text(tseq: "03"), text(t_ns: ""), text(t_ns: "1" * 20),
      text(more: ""), text(more: "}"), text(writer: ID.chop), text(writer: "#{ID.chop}g"),
      " #{text}", text.sub('"v":1', '"v":2'), text.sub('"seq"', '"sec"')
    ].each { |header| assert_nil start.call(header), header }
    (0...text.bytesize).each { |size| assert_nil start.call(text.byteslice(0, size)) }
  end

  each_kind :pack, "a packed record has topic, header and text, with the numbers" do |pack|
    common = HEADER.common("INFO.größe.web1.".b, 1, 42, "wéb1", "größe")
    entry = lambda do |mono_ns, tags|
      Godwit::Logger.const_get(:Entry)
        .new(nil, 1_795_177_867_123_456_789, mono_ns, 0, nil, tags, nil, nil)
    end
    header =
      '{"seq":9,"tseq":3,"t_ns":1795177867123456789,"mono_ns":-5,"level":1,"pid":42,"thread":0,' \
      '"host":"wéb1","prog":"größe","tags":[1]}'
    record = pack.call("{\"seq\":", 9, 3, common, entry.call(-5, ",\"tags\":[1]"), "tëxt")
    assert_equal [common.topic, header.b, "tëxt".b], PACKING.frames(record).map(&:b)
    assert_equal Encoding::BINARY, record.encoding
    record = pack.call("", 1 << 62, 1, common, entry.call(0, nil), "")
    assert_equal (1 << 62).to_s.b, PACKING.frames(record)[1][/\A\d+/]
  end

  # @param native [Boolean] whether the extension makes the field of this payload
  def assert_field(payload, native: true)
    expected = TEXT.field("payload", payload)
    found = HEADER.payload(payload)
    if native && NATIVE
      assert_equal [expected, Encoding::UTF_8], [found, found.encoding], payload.inspect
      assert_predicate found, :valid_encoding?
    else
      assert_nil found
    end
    assert_equal expected, TEXT.payload_field(payload)
  end

  test "a payload of simple values is the JSON that Ruby makes" do
    every_byte = (0..127).map(&:chr).join
    [
      {}, {user: 42, cents: -1995}, {"a" => nil, :b => true, "c" => false},
      {big: (1 << 62) - 1, small: -(1 << 62)}, {float: 12.5, zero: -0.0},
      {:text => "größe", :symbol => :größe, "ключ" => "значение"}, {every: every_byte},
      {every_byte => 1}, {:empty => "", "" => 0}, {:a => 1, "a" => 2},
      {ascii: "x".encode("US-ASCII"), latin: "plain".encode("ISO-8859-1"), binary: "plain".b}
    ].each { |payload| assert_field(payload) }
  end

  # The versions of the gem json write some floats in different forms.
  test "a float keeps its value" do
    [1e-9, 1e20, 0.1, Float::MAX, Float::MIN, -1.5e300].each do |float|
      field = TEXT.payload_field({float: float})
      assert_equal({"payload" => {"float" => float}}, JSON.parse("{#{field.delete_prefix(",")}}"))
    end
  end

  test "Ruby makes any other payload" do
    own = Class.new(String) { def to_json(*) = "1" }
    [
      {list: [1]}, {hash: {a: 1}}, {big: 1 << 62}, {nan: Float::NAN}, {far: Float::INFINITY},
      {broken: "\xff"}, {binary: "\xff".b}, {latin: (+"gr\xf6\xdfe").force_encoding("ISO-8859-1")},
      {wide: "x".encode("UTF-16LE")}, {own: own.new("x")}, {own.new("x") => 1}, {1 => 2},
      {nil => 1}, {rational: 1r}, {time: Time.at(0)}, {object: Object}, Class.new(Hash).new,
      [1], "text", 5, :symbol
    ].each { |payload| assert_field(payload, native: false) }
  end

  test "a long payload is made by Ruby, and none is cut" do
    longest = 2048 - ",\"payload\":{\"k\":\"\"}".bytesize
    assert_field({k: "x" * longest})
    assert_field({k: "x" * (longest + 1)}, native: false)
    assert_field({k: "\n" * longest}, native: false)
    assert_field({k: "x" * 100_000}, native: false)
    assert_field((1..1000).to_h { |number| ["key #{number}", number] }, native: false)
    (longest - 40..longest).each do |size|
      payload = {"k" => "x" * size, "l" => 1.5, "m\n" => nil}
      assert_equal TEXT.field("payload", payload), TEXT.payload_field(payload)
    end
  end

  test "random payloads are the JSON that Ruby makes" do
    random = Random.new(Minitest.seed || 1)
    values = [
      -> { random.rand(-(1 << 62)...(1 << 62)) }, -> { random.rand(1_000) / 8.0 },
      -> { random.bytes(random.rand(20)).force_encoding("UTF-8").scrub("ü") }, -> {},
      -> { true }, -> { false }, -> { :"s#{random.rand(9)}" }
    ]
    rounds(2000, stressed: 100).times do
      payload = Array.new(random.rand(6)) { |number|
        ["#{number}#{random.bytes(2)}".force_encoding("UTF-8").scrub("é"),
          values.sample(random: random).call]
      }.to_h
      assert_field(payload)
    end
  end
end
