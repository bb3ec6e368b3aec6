# frozen_string_literal: true

require_relative "engines"
require "zlib"

# The client of a log: topics, produce, produce_many and each.
class WorkClientTest < Godwit::WorkCase
  include Engines

  Work = Godwit::Work

  def declare(name = "t", **settings) = client.topic(name, **settings)
  def produce(...) = client.produce("t", ...)
  def produce_many(records, topic = "t") = client.produce_many(topic, records)
  def messages(topic = "t", **options) = client.each(topic, **options).to_a
  def other = Work::Client.new(engine)

  test "what is produced comes back, with its key, its headers and its place" do
    declare
    receipt = produce({id: 1, name: "\u00e4"}, key: "42", headers: {"a" => "1", "b" => nil})
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
    produce_many([[nil, "k"], ["", "k"]])
    assert_equal [[nil, nil], ["", "\"\""]], messages.map { |one| [one.value, one.raw] }
  end

  test "the same key has the same partition, that of librdkafka; other records have any" do
    declare(partitions: 8)
    keys = Array.new(50) { |index| "key #{index}" }
    partitions = keys.map { |key| Zlib.crc32(key) % 8 }
    assert_equal partitions, produce_many(keys.map { |key| [1, key] }).map(&:partition)
    assert_equal keys.zip(partitions).to_h, messages.to_h { |one| [one.key, one.partition] }
    others = []
    eventually { (others << produce(1).partition).uniq.size > 1 }
    assert_equal 1, produce_many([[1]] * 20).map(&:partition).uniq.size
  end

  test "partitioner: :murmur2 is that of Kafka's Java client" do
    topic = declare(partitions: 100, partitioner: :murmur2)
    # Keys and hashes of Kafka's UtilsTest; the hash of "" is from librdkafka's tests.
    {"21" => -973932308, "foobar" => -790332482, "a-little-bit-long-string" => -985981536,
     "a-little-bit-longer-string" => -1486304829,
     "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8" => -58897971, "abc" => 479470107,
     "" => 275646681}.each do |key, hash|
      assert_equal [(hash & 0x7fffffff) % 100] * 2,
        [topic.partition_of(key), produce(1, key: key).partition], key
    end
    assert_equal [:murmur2, :murmur2],
      [other.topic("t").partitioner, other.topic("t", partitioner: :murmur2).partitioner]
    assert_equal :crc32, declare("x").partitioner
  end

  test "produce_many gives the place of each record, in order within its partition" do
    declare(format: :raw, partitions: 2)
    keys = Array.new(20) { |index| index.to_s }
    receipts = produce_many(keys.map { |key| [key * 2, key, {"h" => key}] })
    receipts.group_by(&:partition).each_value do |own|
      assert_equal (0...own.size).to_a, own.map(&:offset)
    end
    found = messages.to_h { |one| [[one.partition, one.offset], [one.raw, one.key, one.headers]] }
    assert_equal keys.map { |key| [key * 2, key, [["h", key]]] },
      receipts.map { |receipt| found[[receipt.partition, receipt.offset]] }
    assert_equal 4, produce_many([["x" * 700_000, "k"]] * 4).map(&:offset).uniq.size
    assert_empty produce_many([])
  end

  test "produce_many writes one block for each partition" do
    not_on :kafka, "librdkafka makes the batches"
    topic = declare(format: :raw, partitions: 2)
    produce_many(Array.new(20) { |index| ["x", index.to_s] }).map(&:partition).tally
      .each do |partition, count|
        assert_equal [count], engine.read(topic, partition, 0, 1 << 20).map(&:count)
      end
  end

  test "an engine may give an offset and a time for each record" do
    declare
    later = client.encode("t", "c", key: "k")
    waiting = later.receipts
    engine.stub(:append, ->(_) { [[[5, 9], [1_000, 2_500]]] }) do
      assert_equal [[5, Time.at(1)], [9, Time.at(2.5)]],
        produce_many([["a", "k"], ["b", "k"]]).map { |one| [one.offset, one.timestamp] }
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
      receipts = produce_many(records)
      assert_equal records.size, receipts.map(&:offset).uniq.size
      assert_equal counts, engine.read(topic, 0, receipts[0].offset, 1 << 30).map(&:count)
    end
  end

  test "formats" do
    {"text" => [:text, "\u00e4"], "raw" => [:raw, "\xff".b], "own" => [Backwards, 123]}
      .each do |name, (format, value)|
        declare(name, format: format)
        client.produce(name, value)
        assert_equal value, messages(name).first.value
      end
    assert_equal %w[text raw], %w[text raw].map { |name| engine.topics[name].format }
    another = other
    message = another.each("own").first
    assert_equal "321", message.raw
    assert_refused(Work::TopicError,
      -> { another.produce("own", 1) } => /format of its own.*Backwards: declare it here/,
      -> { message.value } => /format of its own/)
    assert_equal 8, another.topic("own", format: Backwards).partitions
  end

  # @return [Object] a format whose dump calls the block
  def own_format(&dump)
    Class.new do
      define_method(:dump, &dump)
      def load(bytes) = bytes
    end.new
  end

  test "what a format of its own raises is a FormatError, with its cause" do
    declare("own", format: Backwards)
    client.produce("own", "x")
    error = assert_raises(Work::FormatError) { messages("own").first.value }
    assert_match(/load of the format .*Backwards failed: ArgumentError: invalid value for Integer/,
      error.message)
    assert_kind_of ArgumentError, error.cause
    declare("number", format: own_format { |_| 42 })
    declare("nothing", format: own_format { |_| nil })
    declare("failing", format: own_format { |_| raise KeyError, "id" })
    assert_refused(Work::FormatError,
      -> { client.produce("number", 1) } => /must return a String.* 42/,
      -> { client.produce("nothing", 1) } => /must return a String.* nil/,
      -> { client.produce("failing", 1) } => /dump of .* failed: KeyError: id: give it/)
  end

  test "values that the format cannot hold are refused, and nothing is written" do
    declare
    declare("text", format: :text)
    declare("raw", format: :raw)
    circle = []
    circle << circle
    refused = [["t", Float::NAN], ["t", "\xff"], ["t", {a: "\xff".b}], ["t", circle],
      ["text", "\xff"], ["text", 5], ["raw", {a: 1}]]
    assert_refused(Work::FormatError, refused.to_h { |topic, value|
      [-> { produce_many([["good"], [value]], topic) }, /convert it|takes a String/]
    })
    assert_equal [0], %w[t text raw].map { |topic| client.each(topic).count }.uniq
    {"text" => "\xff", "t" => "{"}.each do |name, bytes|
      engine.append([[engine.topics[name], 0, block(bytes), 1]])
    end
    assert_refused(Work::FormatError,
      -> { messages("text").first.value } => /no UTF-8/, -> { messages.first.value } => /no JSON/)
  end

  test "limits of values, keys and headers" do
    declare(format: :raw)
    produce("x" * (1 << 20), key: "k" * (64 << 10))
    assert_refused(Work::FormatError,
      -> { produce("x" * (2 << 20)) } => /the value has 2097152 bytes, and may have 1048576/,
      -> { produce("x", key: "k" * 65_537) } => /the key with the headers has 65537/,
      -> { produce("x", headers: {"h" => "v" * 65_536}) } => /with the headers has 65537/)
    wrong = [{a: "b"}, {"a" => 5}, 5, "x", ["a"], [["a"]], [%w[a b c]]]
    assert_refused(Godwit::ArgumentValueError,
      -> { produce("x", key: 5) } => /key: takes a String or nil: got 5/,
      **wrong.to_h { |headers|
        [-> { produce("x", headers: headers) }, /headers: takes pairs of a String/]
      })
    assert_equal 1, messages.size
  end

  test "produce_many takes any Enumerable of Arrays, and names a record that is none" do
    declare
    receipts = produce_many((1..3).lazy.map { |number| [number, "k"] })
    assert_equal [0, 1, 2], receipts.map(&:offset)
    assert_refused(Godwit::ArgumentValueError,
      **[nil, 5, {id: 1}, [], [1, "k", {}, 4]].to_h { |record|
        [-> { produce_many([[1], record]) },
          /record 1 of the call: .*takes \[value\], \[value, key\] or/]
      },
      -> { produce_many([[1], [2], [3, 4]]) } => /record 2 of the call: .*key: takes a String/,
      **[nil, 5, "x"].to_h { |records| [-> { produce_many(records) }, /takes an Array of Arrays/] })
    assert_refused(Work::FormatError,
      -> { produce_many([[Float::NAN]]) } => /record 0 of the call: JSON cannot/)
    assert_equal 3, messages.size
  end

  test "a value without braces" do
    declare
    says = /write produce\("t", \{id: 1\}, key: "42"\)/
    assert_refused(Godwit::ArgumentValueError,
      -> { produce(id: 1, key: "k") } => says, -> { produce(key: "k") } => says,
      -> { client.encode("t", id: 1) } => says, # `produce` of a consumer's handler calls encode
      -> { produce({id: 1}, kye: "k") } => /takes key: and headers:.*kye/)
    assert_empty messages
  end

  test "an unknown topic names the nearest" do
    declare("payments")
    says = /no topic "paymnts"; did you mean "payments"\?/
    assert_refused(Work::TopicError,
      -> { client.produce("paymnts", 1) } => says, -> { client.each("paymnts") { flunk } } => says,
      **["x", "x\xff", "x".encode("UTF-16LE")].to_h { |name|
        [-> { client.produce(name, 1) }, /declare it with Godwit::Work.topic "x/]
      })
    assert_raises(Godwit::ArgumentValueError) { client.produce(:payments, 1) }
  end

  test "a topic is declared as it is" do
    declare(partitions: 3, format: :raw)
    assert_equal [3, 3], [declare, declare(partitions: 3, format: :raw)].map(&:partitions)
    assert_refused(Work::TopicError,
      -> { declare(partitions: 4) } => /it has partitions: 3, and not 4/,
      -> { declare(format: :json) } => /it has format: "raw"/,
      -> { declare(partitioner: :murmur2) } => /has partitioner: :crc32, and not :murmur2/)
    assert_equal %w[t], client.topics.map(&:name)
  end

  # A setting of a topic => wrong values, and the error's text. The key nil stands for the name.
  WRONG = {
    nil => [["a b", 5, "a\xff", "ab".encode("UTF-16LE")], /name takes/],
    :partitions => [[0, "3"], /partitions: takes 1 to 10000/],
    :format => [[:yaml], /format: takes :json, :msgpack, :raw, :text/],
    :partitioner => [["murmur2"], /partitioner: takes :crc32 or :murmur2/],
    :retain => [
      [0, -1, {}, {hours: 1}, {hours: nil}, {seconds: nil}, {bytes: 0}, {bytes: 1.5}, "7",
        Float::INFINITY, Float::NAN, Complex(3, 1), {seconds: Float::INFINITY}, {bytes: 3/2r}],
      /retain: takes seconds, more than 0, nil, or {/
    ]
  }.freeze

  test "wrong settings of a topic are refused" do
    WRONG.each do |name, (values, says)|
      assert_refused(Godwit::ArgumentValueError, values.to_h { |value|
        [name ? -> { declare("x", name => value) } : -> { declare(value) }, says]
      })
    end
    assert_refused(Godwit::ArgumentValueError,
      -> { declare("x", format: Object.new) } => /format: takes/)
    assert_empty client.topics
  end

  test "retain takes each real number of seconds, also ActiveSupport's" do
    declare(retain: 86_400r)
    assert_equal 86_400, engine.topics["t"].retain
    declare(retain: {seconds: 1/2r, bytes: 80})
    assert_equal [0.5, 80], engine.topics["t"].to_h.values_at(:retain, :retain_bytes)
    require "active_support"
    require "active_support/core_ext/integer/time"
    declare(retain: 7.days)
    assert_equal 7 * 86_400, engine.topics["t"].retain
    assert_equal [false, {}], engine.retain
  end

  test "each begins at an offset, the beginning or the end" do
    topic = declare(partitions: 2, format: :text)
    all = [0, 1].map { |number| Array.new(4) { |at| "#{number}#{at}" } }
    all.each_with_index { |values, number| engine.append([[topic, number, block(*values), 4]]) }
    {
      :earliest => all.flatten, :latest => [], 3 => %w[03 13], 4 => [], -1 => %w[03 13],
      -100 => all.flatten
    }.each { |from, expected| assert_equal expected, messages(from: from).map(&:value).sort, from }
    assert_refused(Godwit::ArgumentValueError,
      -> { messages(from: :middle) } => /from: takes an offset, a Time/)
  end

  test "each begins at a time" do
    not_on :kafka, "the time of a record is that of its producer, and no clock of a test"
    topic = declare(partitions: 2, format: :text)
    time = Time.at(1_700_000_000)
    2.times do |hour|
      engine.stub(:now, (time.to_i + 3600 * hour) * 1000) do
        engine.append([0, 1].map { |number|
          [topic, number, block("#{hour}#{number}a", "#{hour}#{number}b"), 2]
        })
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
    produce_many([[1], [2]])
    seen = []
    client.each("t") do |message|
      seen << message.value
      produce(3) if seen.size < 5
    end
    assert_equal [1, 2], seen
    more = follow(from: :latest)
    eventually { engine.version && produce("live") && more.size > 0 }
    assert_equal "live", more.pop
  end

  # Reads records of the topic "t", also later ones, until the end of the test.
  # @return [Thread::Queue] gets the value of each record
  def follow(**options)
    Thread::Queue.new.tap do |values|
      @reader = in_thread { client.each("t", live: true, **options) { |one| values << one.value } }
    end
  end

  def teardown
    @reader&.kill
    super
  end

  test "each, live: true, reads the partitions that grow adds" do
    declare(partitions: 1)
    seen = follow
    produce(0)
    assert_equal 0, seen.pop
    other.grow("t", 4)
    keys = (1..20).to_a
    eventually { client.topics.first.partitions == 4 }
    produce_many(keys.map { |key| [key, key.to_s] })
    assert_equal keys, Array.new(20) { seen.pop }.sort
  end

  test "a listener of the process stays through connect" do
    seen = []
    Work.on(:skipped) { |event| seen << event[:topic] }
    %w[a b].each { |topic| Work.connect("sqlite::memory:").events.emit(:skipped, topic: topic) }
    assert_equal %w[a b], seen
  ensure
    Work.instance_variable_set(:@events, Work::Events.new)
  end

  test "the client of the process" do
    not_on :kafka, "a URL of a file: create: and durability: are its settings"
    before = ENV.to_h.slice("GODWIT_WORK_URL", "HOME")
    ENV.delete("GODWIT_WORK_URL")
    assert_refused(Godwit::StateError,
      -> { Work.client } => /"sqlite:work.db", or type export GODWIT_WORK_URL=sqlite:work.db/)
    urls = ["redis:x", "sqlite:", "work.db", "sqlite:a\0b", "sqlite:a".encode("UTF-16LE"),
      "sqlite:~nobody-here/x.db"]
    assert_refused(Godwit::ArgumentValueError,
      **urls.to_h { |url| [-> { Work.connect(url) }, /url takes "sqlite:PATH".*GODWIT_WORK_URL=/] },
      -> { Work.connect("sqlite::memory:", durability: :disk) } =>
        /durability: takes :process or :power/)
    ENV["GODWIT_WORK_URL"] = "sqlite:#{path}"
    Work.topic("t")
    assert_equal 0, Work.produce("t", 1).offset
    assert_equal 2, Work.produce_many("t", [[2], [3]]).size
    assert_equal [1, 2, 3], Work.each("t").map(&:value).sort
    assert_path_exists path
    memory = Work.connect("sqlite::memory:", durability: :power)
    assert_empty memory.topics
    assert_match(/Client #<.*MemoryEngine :memory:>/, memory.inspect)
    assert_empty Work.connect("sqlite:#{path}\xff").topics, "a name of any bytes"
    ENV.update("HOME" => scratch_dir, "GODWIT_WORK_URL" => "sqlite:~/home.db")
    assert_raises(Work::AccessError) { Work.connect(create: false) }
    Work.connect.topic("t")
    assert_path_exists File.join(scratch_dir, "home.db")
    assert_equal 1, Work.connect(create: false).topics.size
  ensure
    ENV.update("GODWIT_WORK_URL" => nil, **before) if before
  end
end
