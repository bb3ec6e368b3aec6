# frozen_string_literal: true

require "test_helper"
require "godwit/logger"

# Parts of a record's header. The extension's and Ruby's do the same.
class LoggerHeaderTest < Godwit::TestCase
  NATIVE = Godwit::Logger.const_get(:Native)::Header
  RUBY = Godwit::Logger.const_get(:Header)
  KINDS = [NATIVE, RUBY].uniq
  TEXT = Godwit::Logger.const_get(:Text)
  ID = "0123456789abcdefABCDEF0123456789"

  def self.each_kind(name, &block)
    KINDS.each { |kind| test("#{kind}: #{name}") { instance_exec(kind, &block) } }
  end

  def start(writer: ID, seq: 7, tseq: 3, t_ns: 1_795_177_867_123_456_789, more: ",")
    %({"v":1,"writer":"#{writer}","seq":#{seq},"tseq":#{tseq},"t_ns":#{t_ns}#{more})
  end

  each_kind "the number of a header that Godwit wrote" do |header|
    assert_equal 7, header.seq(start)
    assert_equal 7, header.seq(start.b)
    assert_equal 9_999_999_999_999_999_999, header.seq(start(seq: "9" * 19, tseq: "9" * 19))
    assert_equal 1, header.seq(start(seq: 1, t_ns: 0, more: ",x\xff".b).b)
  end

  each_kind "any other header has none" do |header|
    [
      "", "{", start(seq: 0), start(seq: "07"), start(seq: "1" * 20), start(seq: -1),
      start(seq: ""), start(tseq: 0), start(tseq: "03"), start(t_ns: ""), start(t_ns: "1" * 20),
      start(more: ""), start(more: "}"), start(writer: ID.chop), start(writer: "#{ID.chop}g"),
      " #{start}", start.sub('"v":1', '"v":2'), start.sub('"seq"', '"sec"')
    ].each { |text| assert_nil header.seq(text), text }
    (0...start.bytesize).each { |size| assert_nil header.seq(start.byteslice(0, size)) }
  end

  # `native` tells whether the extension makes the field.
  def assert_field(payload, native: true)
    expected = TEXT.field("payload", payload)
    found = NATIVE.payload(payload)
    if native && NATIVE != RUBY
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
