# frozen_string_literal: true

require_relative "engines"
require "zlib"

# Topics, produce, produce_many and each.
class WorkClientTest < Godwit::WorkCase
  include Engines::Tools

  # Dumps and loads Integers, backwards.
  module Backwards
    def self.dump(value) = value.to_s.reverse
    def self.load(bytes) = Integer(bytes.reverse)
  end

  def declare(name = "t", **settings) = client.topic(name, **settings)
  def messages(**options) = client.each("t", **options).to_a
  def assert_refused(error, says, &block) = assert_match(says, assert_raises(error, &block).message)

  test "what is produced comes back, with its key, its headers and its place" do
    declare
    receipt = client.produce("t", {id: 1, name: "\u00e4"}, key: "42",
      headers: {"a" => "1", "b" => nil})
    message = messages.first
    assert_equal [{id: 1, name: "\u00e4"}, "42".b, [["a", "1"], ["b", nil]], "t"],
      [message.value, message.key, message.headers, message.topic]
    assert_equal [receipt.partition, receipt.offset, receipt.timestamp],
      [message.partition, message.offset, message.timestamp]
    assert_equal "{\"id\":1,\"name\":\"\u00e4\"}".b, message.raw
    assert_match(%r{Message t \d/0 key="42"}, message.inspect)
    assert_predicate receipt, :frozen?
  end

  test "nil is a tombstone, and no value at all" do
    declare
    client.produce("t", nil, key: "k")
    client.produce("t", "", key: "k")
    assert_equal [[nil, nil], ["", "\"\""]], messages.map { |one| [one.value, one.raw] }
  end

  test "the same key has the same partition, that of librdkafka; other records have any" do
    declare(partitions: 8)
    keys = Array.new(50) { |index| "key #{index}" }
    receipts = client.produce_many("t", keys.map { |key| [1, key] })
    assert_equal keys.map { |key| Zlib.crc32(key) % 8 }, receipts.map(&:partition)
    found = messages.to_h { |message| [message.key, message.partition] }
    assert_equal keys.zip(receipts.map(&:partition)).to_h, found
    parts = []
    eventually { (parts << client.produce("t", 1).partition).uniq.size > 1 }
    assert_equal 1, client.produce_many("t", [[1]] * 20).map(&:partition).uniq.size
  end

  test "partitioner: :murmur2 is that of Kafka's Java client" do
    topic = declare(partitions: 100, partitioner: :murmur2)
    # Kafka's UtilsTest, and for "" librdkafka's.
    {"21" => -973932308, "foobar" => -790332482, "a-little-bit-long-string" => -985981536,
     "a-little-bit-longer-string" => -1486304829,
     "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8" => -58897971, "abc" => 479470107,
     "" => 275646681}.each do |key, hash|
      assert_equal (hash & 0x7fffffff) % 100, topic.partition_of(key), key
      assert_equal (hash & 0x7fffffff) % 100, client.produce("t", 1, key: key).partition
    end
    other = Godwit::Work::Client.new(engine)
    assert_equal [:murmur2, :murmur2],
      [other.topic("t").partitioner, other.topic("t", partitioner: :murmur2).partitioner]
    assert_refused(Godwit::Work::TopicError, /has partitioner: :murmur2, and not :crc32/) do
      other.topic("t", partitioner: :crc32)
    end
    assert_refused(Godwit::ArgumentValueError, /partitioner: takes :crc32 or :murmur2/) do
      declare("x", partitioner: "murmur2")
    end
    assert_equal :crc32, declare("x").partitioner
  end

  test "produce_many gives the place of each record, in order within its partition" do
    declare(format: :raw, partitions: 2)
    keys = Array.new(20) { |index| index.to_s }
    receipts = client.produce_many("t", keys.map { |key| [key * 2, key, {"h" => key}] })
    receipts.group_by(&:partition).each_value do |own|
      assert_equal (0...own.size).to_a, own.map(&:offset)
    end
    found = messages.to_h { |one| [[one.partition, one.offset], [one.raw, one.key, one.headers]] }
    keys.zip(receipts) do |key, receipt|
      assert_equal [key * 2, key, [["h", key]]], found[[receipt.partition, receipt.offset]]
    end
    assert_equal 4, client.produce_many("t", [["x" * 700_000, "k"]] * 4).map(&:offset).uniq.size
    assert_empty client.produce_many("t", [])
  end

  test "produce_many writes one block for each partition" do
    not_on :kafka, "librdkafka makes the batches"
    topic = declare(format: :raw, partitions: 2)
    receipts = client.produce_many("t", Array.new(20) { |index| ["x", index.to_s] })
    receipts.group_by(&:partition).each do |partition, own|
      assert_equal [own.size], engine.read(topic, partition, 0, 1 << 20).map(&:count)
    end
  end

  test "an engine may give an offset and a time for each record" do
    declare
    later = client.encode("t", "c", key: "k")
    waiting = later.receipts
    engine.stub(:append, ->(_) { [[[5, 9], [1_000, 2_500]]] }) do
      receipts = client.produce_many("t", [["a", "k"], ["b", "k"]])
      assert_equal [[5, Time.at(1)], [9, Time.at(2.5)]],
        receipts.map { |one| [one.offset, one.timestamp] }
    end
    later.written([[[11], [3_000]]])
    assert_equal [[11, Time.at(3)]], waiting.map { |one| [one.offset, one.timestamp] }
  end

  test "a block holds 10,000 records, and 1 MiB of values, keys and headers, at most" do
    not_on :kafka, "librdkafka makes the batches"
    topic = declare(format: :raw, partitions: 1)
    header = [["h", "x" * 60_000]]
    {
      [[nil, "k"]] * 25_000 => [10_000, 10_000, 5_000], [["1"]] * 10_001 => [10_000, 1],
      [["1", "k", header]] * 20 => [18, 2], [[nil, "k" * 60_000]] * 20 => [18, 2]
    }.each do |records, counts|
      receipts = client.produce_many("t", records)
      assert_equal records.size, receipts.map(&:offset).uniq.size
      assert_equal counts, engine.read(topic, 0, receipts[0].offset, 1 << 30).map(&:count)
    end
  end

  test "formats" do
    declare("text", format: :text)
    declare("raw", format: :raw)
    declare("own", format: Backwards)
    {"text" => "\u00e4", "raw" => "\xff".b, "own" => 123}.each do |name, value|
      client.produce(name, value)
      assert_equal value, client.each(name).first.value
    end
    assert_equal %w[text raw], %w[text raw].map { |name| engine.topics[name].format }
    assert_equal "321", client.each("own").first.raw
    other = Godwit::Work::Client.new(engine)
    assert_refused(Godwit::Work::TopicError, /format of its own.*Backwards: declare it here/) do
      other.produce("own", 1)
    end
    message = other.each("own").first
    assert_equal "321", message.raw
    assert_refused(Godwit::Work::TopicError, /format of its own/) { message.value }
    assert_equal 3, other.topic("own", format: Backwards).partitions - 5
  end

  def own_format(&dump)
    Class.new do
      define_method(:dump, &dump)
      def load(bytes) = bytes
    end.new
  end

  test "what a format of its own raises is a FormatError, with its cause" do
    declare("own", format: Backwards)
    client.produce("own", "x")
    error = assert_raises(Godwit::Work::FormatError) { client.each("own").first.value }
    assert_match(/load of the format .*Backwards failed: ArgumentError: invalid value for Integer/,
      error.message)
    assert_kind_of ArgumentError, error.cause
    {"a" => 42, "b" => nil}.each do |name, result|
      declare(name, format: own_format { |_| result })
      assert_refused(Godwit::Work::FormatError, /must return a String.* #{result.inspect}/) do
        client.produce(name, 1)
      end
    end
    declare("failing", format: own_format { |_| raise KeyError, "id" })
    assert_refused(Godwit::Work::FormatError, /dump of .* failed: KeyError: id: give it/) do
      client.produce("failing", 1)
    end
  end

  test "values that the format cannot hold are refused, and nothing is written" do
    declare
    declare("text", format: :text)
    declare("raw", format: :raw)
    circle = []
    circle << circle
    [["t", Float::NAN], ["t", "\xff"], ["t", {a: "\xff".b}], ["t", circle], ["text", "\xff"],
      ["text", 5], ["raw", {a: 1}]].each do |topic, value|
      assert_refused(Godwit::Work::FormatError, /convert it|takes a String/) do
        client.produce_many(topic, [["good"], [value]])
      end
    end
    assert_equal [0], %w[t text raw].map { |topic| client.each(topic).count }.uniq
    client.produce("raw", "\xff")
    bad = engine.topics["text"]
    engine.append([[bad, 0, block("\xff"), 1]])
    assert_refused(Godwit::Work::FormatError, /no UTF-8/) { client.each("text").first.value }
    engine.append([[engine.topics["t"], 0, block("{"), 1]])
    assert_refused(Godwit::Work::FormatError, /no JSON/) { client.each("t").first.value }
  end

  test "limits of values, keys and headers" do
    declare(format: :raw)
    client.produce("t", "x" * (1 << 20), key: "k" * (64 << 10))
    {
      -> { client.produce("t", "x" * (2 << 20)) } =>
        /the value has 2097152 bytes, and may have 1048576/,
      -> { client.produce("t", "x", key: "k" * 65_537) } => /the key with the headers has 65537/,
      -> { client.produce("t", "x", headers: {"h" => "v" * 65_536}) } =>
        /with the headers has 65537/
    }.each { |call, says| assert_refused(Godwit::Work::FormatError, says, &call) }
    {
      -> { client.produce("t", "x", key: 5) } => /key: takes a String or nil: got 5/,
      **[{a: "b"}, {"a" => 5}, 5, "x", ["a"], [["a"]], [%w[a b c]]].to_h do |headers|
        [-> { client.produce("t", "x", headers: headers) }, /headers: takes pairs of a String/]
      end
    }.each { |call, says| assert_refused(Godwit::ArgumentValueError, says, &call) }
    assert_equal 1, messages.size
  end

  test "produce_many takes any Enumerable of Arrays, and names a record that is none" do
    declare
    receipts = client.produce_many("t", (1..3).lazy.map { |number| [number, "k"] })
    assert_equal [0, 1, 2], receipts.map(&:offset)
    [nil, 5, {id: 1}, [], [1, "k", {}, 4]].each do |record|
      says = /record 1 of the call: .*takes \[value\], \[value, key\] or/
      assert_refused(Godwit::ArgumentValueError, says) do
        client.produce_many("t", [[1], record])
      end
    end
    assert_refused(Godwit::ArgumentValueError, /record 2 of the call: .*key: takes a String/) do
      client.produce_many("t", [[1], [2], [3, 4]])
    end
    assert_refused(Godwit::Work::FormatError, /record 0 of the call: JSON cannot/) do
      client.produce_many("t", [[Float::NAN]])
    end
    [nil, 5, "x"].each do |records|
      assert_refused(Godwit::ArgumentValueError, /takes an Array of Arrays/) do
        client.produce_many("t", records)
      end
    end
    assert_equal 3, messages.size
  end

  test "a value without braces" do
    declare
    says = /write produce\("t", \{id: 1\}, key: "42"\)/
    [-> { client.produce("t", id: 1, key: "k") }, -> { client.produce("t", key: "k") }]
      .each do |one|
      assert_refused(Godwit::ArgumentValueError, says, &one)
    end
    assert_refused(Godwit::ArgumentValueError, /takes key: and headers:.*kye/) do
      client.produce("t", {id: 1}, kye: "k")
    end
    assert_empty messages
  end

  test "an unknown topic names the nearest" do
    declare("payments")
    [-> { client.produce("paymnts", 1) }, -> { client.each("paymnts") { flunk } }].each do |call|
      says = /no topic "paymnts"; did you mean "payments"\?/
      assert_refused(Godwit::Work::TopicError, says, &call)
    end
    ["x", "x\xff", "x".encode("UTF-16LE")].each do |name|
      assert_refused(Godwit::Work::TopicError, /declare it with Godwit::Work.topic "x/) do
        client.produce(name, 1)
      end
    end
  end

  test "a topic is declared as it is" do
    declare(partitions: 3, format: :raw)
    assert_equal 3, declare.partitions
    assert_equal 3, declare(partitions: 3, format: :raw).partitions
    {
      {partitions: 4} => /it has partitions: 3, and not 4/,
      {format: :json} => /it has format: "raw"/
    }.each do |settings, says|
      assert_refused(Godwit::Work::TopicError, says) { declare(**settings) }
    end
    limits = [0, -1, {}, {hours: 1}, {hours: nil}, {seconds: nil}, {bytes: 0}, {bytes: 1.5}, "7",
      Float::INFINITY, Float::NAN, Complex(3, 1), {seconds: Float::INFINITY}, {bytes: 3/2r}]
    {
      **["a b", 5, "a\xff", "ab".encode("UTF-16LE")].to_h do |wrong|
        [-> { declare(wrong) }, /name takes/]
      end,
      -> { declare("x", partitions: 0) } => /partitions: takes 1 to 10000/,
      -> { declare("x", format: :yaml) } => /format: takes :json, :msgpack, :raw, :text/,
      -> { declare("x", format: Object.new) } => /format: takes/,
      **limits.to_h do |wrong|
        [-> { declare("x", retain: wrong) }, /retain: takes seconds, more than 0, nil, or {/]
      end
    }.each { |call, says| assert_refused(Godwit::ArgumentValueError, says, &call) }
    assert_equal %w[t], client.topics.map(&:name)
  end

  test "retain takes each real number of seconds, also ActiveSupport's" do
    declare("t", retain: 86_400r)
    assert_equal 86_400, engine.topics["t"].retain
    declare("t", retain: {seconds: 1/2r, bytes: 80})
    assert_equal [0.5, 80], engine.topics["t"].to_h.values_at(:retain, :retain_bytes)
    require "active_support"
    require "active_support/core_ext/integer/time"
    declare("t", retain: 7.days)
    assert_equal 7 * 86_400, engine.topics["t"].retain
    assert_equal [false, {}], engine.retain
  end

  test "each begins at an offset, the beginning or the end" do
    declare(partitions: 2, format: :text)
    topic = engine.topics["t"]
    2.times do |number|
      values = Array.new(4) { |at| "#{number}#{at}" }
      engine.append([[topic, number, block(*values), 4]])
    end
    all = %w[00 01 02 03 10 11 12 13]
    {
      :earliest => all, :latest => [], 3 => %w[03 13], 4 => [], -1 => %w[03 13], -100 => all
    }.each { |from, expected| assert_equal expected, messages(from: from).map(&:value).sort, from }
    assert_refused(Godwit::ArgumentValueError, /from: takes an offset, a Time/) do
      messages(from: :middle)
    end
  end

  test "each begins at a time" do
    not_on :kafka, "the time of a record is that of its producer, and no clock of a test"
    declare(partitions: 2, format: :text)
    topic = engine.topics["t"]
    time = Time.at(1_700_000_000)
    2.times do |hour|
      engine.stub(:now, (time.to_i + 3600 * hour) * 1000) do
        2.times do |partition|
          text = "#{hour}#{partition}"
          engine.append([[topic, partition, block("#{text}a", "#{text}b"), 2]])
        end
      end
    end
    {
      time => %w[00a 00b 01a 01b 10a 10b 11a 11b], time + 1 => %w[10a 10b 11a 11b],
      time + 7200 => []
    }.each { |from, expected| assert_equal expected, messages(from: from).map(&:value).sort, from }
    assert_equal 4, messages.count { |message| message.timestamp == time }
  end

  test "each reads up to the end that there was when it began, and live: waits for more" do
    declare(partitions: 1)
    client.produce_many("t", [[1], [2]])
    seen = []
    client.each("t") do |message|
      seen << message.value
      client.produce("t", 3) if seen.size < 5
    end
    assert_equal [1, 2], seen
    more = Thread::Queue.new
    reader = in_thread { client.each("t", from: :latest, live: true) { |one| more << one.value } }
    eventually { engine.version && client.produce("t", "live") && more.size > 0 }
    reader.kill
    ended(reader)
    assert_equal "live", more.pop
  end

  test "each, live: true, reads the partitions that grow adds" do
    declare(partitions: 1)
    seen = Thread::Queue.new
    reader = in_thread { client.each("t", live: true) { |one| seen << one.value } }
    client.produce("t", 0)
    assert_equal 0, seen.pop
    Godwit::Work::Client.new(engine).grow("t", 4)
    keys = (1..20).to_a
    eventually { client.topics.first.partitions == 4 }
    client.produce_many("t", keys.map { |key| [key, key.to_s] })
    eventually { seen.size == 20 }
    assert_equal keys, Array.new(20) { seen.pop }.sort
    reader.kill
    ended(reader)
  end

  test "a listener of the process stays through connect" do
    seen = []
    Godwit::Work.on(:skipped) { |event| seen << event[:topic] }
    %w[a b].each do |topic|
      log = Godwit::Work.connect("sqlite::memory:")
      log.events.emit(:skipped, topic: topic)
    end
    assert_equal %w[a b], seen
  ensure
    Godwit::Work.instance_variable_set(:@events, Godwit::Work::Events.new)
  end

  test "the client of the process" do
    not_on :kafka, "a URL of a file: create: and durability: are its settings"
    before = ENV.delete("GODWIT_WORK_URL")
    assert_refused(Godwit::StateError, /"sqlite:work.db", or type export GODWIT_WORK_URL/) do
      Godwit::Work.client
    end
    ["redis:x", "sqlite:", "sqlite:a\0b", "sqlite:a".encode("UTF-16LE")].each do |url|
      assert_refused(Godwit::ArgumentValueError, /url takes "sqlite:PATH"/) do
        Godwit::Work.connect(url)
      end
    end
    assert_refused(Godwit::ArgumentValueError, /durability: takes :process or :power/) do
      Godwit::Work.connect("sqlite::memory:", durability: :disk)
    end
    ENV["GODWIT_WORK_URL"] = "sqlite:#{path}"
    Godwit::Work.topic("t")
    assert_equal 0, Godwit::Work.produce("t", 1).offset
    assert_equal 2, Godwit::Work.produce_many("t", [[2], [3]]).size
    assert_equal [1, 2, 3], Godwit::Work.each("t").map(&:value).sort
    assert_path_exists path
    memory = Godwit::Work.connect("sqlite::memory:", durability: :power)
    assert_empty memory.topics
    assert_match(/Client #<.*MemoryEngine :memory:>/, memory.inspect)
    assert_empty Godwit::Work.connect("sqlite:#{path}\xff").topics, "a name of any bytes"
    home, ENV["HOME"] = ENV["HOME"], scratch_dir
    ENV["GODWIT_WORK_URL"] = "sqlite:~/home.db"
    assert_raises(Godwit::Work::AccessError) { Godwit::Work.connect(create: false) }
    Godwit::Work.connect.topic("t")
    assert_path_exists File.join(scratch_dir, "home.db")
    assert_equal 1, Godwit::Work.connect(create: false).topics.size
    assert_refused(Godwit::ArgumentValueError, /url takes "sqlite:PATH".*nobody-here/) do
      Godwit::Work.connect("sqlite:~nobody-here/x.db")
    end
  ensure
    ENV["HOME"] = home if home
    ENV["GODWIT_WORK_URL"] = before
  end
end
