# frozen_string_literal: true

require_relative "native_helper"

# Tests the C extension with a real broker.
class WorkKafkaNativeTest < Godwit::WorkCase
  include NativeKafka

  OFFSET_RESET, QUEUE_FULL, UNKNOWN_PARTITION, TOO_LARGE = -140, -184, -190, 10

  def random = @random ||= Random.new(Minitest.seed)
  def choose(*choices) = choices.sample(random: random)
  def binary(size) = random.bytes(size)

  # @param plain [Boolean] whether records have short values, and neither keys nor headers
  # @param size [Integer, nil] bytes of one record's value; nil: no record is large
  # @return [Array<Array(String, String, Array)>] value, key, headers
  def batch(count, plain: false, size: nil)
    records = Array.new(count) do
      next [binary(9), nil, nil] if plain
      value = choose(nil, "", binary(random.rand(200)), binary(20), "text")
      [value, choose(nil, "", binary(8), "key"), headers]
    end
    records[random.rand(count)][0] = binary(size) if size
    records
  end

  # Random headers. A name has no NUL, since librdkafka ends a name at its first NUL.
  def headers
    pairs = Array.new(choose(0, 0, 1, 3)) do
      [choose("name", "näme", ""), choose(nil, "", binary(5), "välue".b)]
    end
    choose(nil, pairs)
  end

  # @return [String] the block that holds these records
  def block(records)
    values, keys, headers = records.transpose
    headers.map! { |pairs| pairs if pairs&.any? }
    encode(values, (keys if keys.any?), (headers if headers.any?))
  end

  # Runs the block with a garbage collection at each allocation.
  def stressed
    GC.stress = true
    yield
  ensure
    GC.stress = false
  end

  test "records come back as Block.encode writes them" do
    batches = [batch(1), batch(300), batch(1200, plain: true), batch(50, size: 990_000),
      batch(700), batch(1, size: 0)]
    delivery = producer.produce(topic_name, *batches.map { |records| block(records) })
    total = batches.sum(&:size)
    assert_equal [0, 0, 0], delivery.to_a.last(3)
    assert_equal (0...total).to_a, delivery.offsets
    assert_equal [[[0], delivery.times[0, 1]], [[1, 2], delivery.times[1, 2]]],
      delivery.split([1, 2])
    records = batches.flatten(1)
    found = drained(queue(topic_name), total, records: 997, bytes: 1 << 20)
    assert_equal (0...total).to_a, found.flat_map { |got| (got.offset...got.finish).to_a }
    found.each do |got|
      assert_instance_of NativeKafka::Kafka::Block, got
      assert_equal block(records[got.offset, got.count]), bytes_of(got)
      assert_equal delivery.times[got.offset, got.count], Array.new(got.count) { |i| got.time(i) }
      assert_equal bytes_of(got).bytesize + 8 * got.count, got.bytesize
    end
  end

  test "drain ends at the limits of records and of bytes, and does not wait" do
    one = producer
    one.produce(topic_name, encode(["x" * 100] * 5000), encode(["y" * 400_000] * 8))
    queue = queue(topic_name)
    eventually { (@first = queue.drain(1, 1)).any? }
    assert_equal [1], @first.map(&:count)
    found = []
    eventually do
      got = queue.drain(10, 1 << 30)
      assert_operator got.sum(&:count), :<=, 10
      found.concat(got).size > 2
    end
    rest = drained(queue, 5008 - 1 - found.sum(&:count), records: 100_000, bytes: 2_000_000)
    assert_operator rest.map(&:count).max, :<=, 1000
    assert_operator rest.map(&:bytesize).max, :<, (1 << 20) + 500_000
    assert_empty queue.drain
    assert_empty queue.drain(0, 1)
    assert_empty queue.drain(1, 0)
  end

  test "a block has no gap in its offsets" do
    one = producer("transactional.id" => topic_name)
    assert_predicate NativeKafka::Functions.init_transactions(one.handle, 30_000), :null?
    [3, 2].each do |count|
      assert_predicate NativeKafka::Functions.begin_transaction(one.handle), :null?
      assert_equal 0, one.produce(topic_name, encode(["v"] * count)).code
      assert_predicate NativeKafka::Functions.commit_transaction(one.handle, 30_000), :null?
    end
    found = drained(queue(topic_name), 5)
    assert_equal [[0, 3], [4, 6]], found.map { |got| [got.offset, got.finish] }
  end

  test "an error entry is a Failure" do
    producer.produce(topic_name, encode(["v"]))
    queue = queue(topic_name, offset: 1000)
    eventually { (@found = queue.drain).any? }
    failure = @found.first
    assert_instance_of NativeKafka::Failure, failure
    assert_equal [OFFSET_RESET, topic_name, 0], failure.to_a.first(3)
    assert_match(/offset/i, failure.text)
    assert_predicate failure.text, :valid_encoding?
  end

  test "a full queue makes produce wait" do
    one = producer("queue.buffering.max.messages" => 10)
    with_headers = encode(["w"] * 50, ["k"] * 50, [[%w[n v]]] * 50)
    delivery = one.produce(topic_name, encode(["v"] * 150), with_headers)
    assert_equal [(0...200).to_a, 0, 0, 0], delivery.to_a.values_at(0, 2, 3, 4)
  end

  test "what librdkafka refuses is counted, with the first error" do
    one = producer
    delivery = one.produce(topic_name, encode(["v", "x" * 2_000_000, "w"]))
    assert_equal [TOO_LARGE, 1, 0], delivery.to_a.last(3)
    assert_equal [0, -1, 1], delivery.offsets
    assert_equal [-1], delivery.times.values_at(1)
    delivery = one.produce(topic_name, encode(%w[v w]), partition: 99)
    assert_equal [[-1, -1], UNKNOWN_PARTITION, 2, 0], delivery.to_a.values_at(0, 2, 3, 4)
    assert_equal [[], [], 0, 0, 0], one.deliveries.produce([], 1).to_a
    assert_equal [[], [], 0, 0, 0], one.produce(topic_name, encode([])).to_a
  end

  # ---- a broker that does not answer ----

  def with_stopped_broker
    (broker = Broker.own).freeze
    yield
  ensure
    broker&.thaw
  end

  # Writes a record, so that the producer knows the topic; stops the broker while the block runs.
  def stalled(properties = {})
    one = producer(properties)
    assert_equal [0], one.produce(topic_name, encode(["first"])).offsets
    with_stopped_broker { yield one }
    one
  end

  test "records without a report when the time is over are missing, and may arrive" do
    one = stalled do |one|
      delivery = one.produce(topic_name, encode(%w[a b]), seconds: 0.02)
      assert_equal [[-1, -1], [-1, -1], 0, 0, 2], delivery.to_a
      assert_equal 1, one.produce(topic_name, encode(["c"]), seconds: 0).missing
    end
    assert_equal [4], one.produce(topic_name, encode(["d"])).offsets
    assert_equal 5, drained(queue(topic_name), 5).sum(&:count)
  end

  test "records that find no room in time have failed" do
    one = stalled("queue.buffering.max.messages" => 10) do |one|
      delivery = one.produce(topic_name, encode(["v"] * 25), seconds: 0.02)
      assert_equal [QUEUE_FULL, 15, 10], delivery.to_a.last(3)
    end
    assert_equal [11], one.produce(topic_name, encode(["last"])).offsets
  end

  # @return [Integer] how many eventfds the process has: each waiting call of produce has one
  def eventfds
    Dir["/proc/self/fd/*"].count do |path|
      File.readlink(path).include?("eventfd")
    rescue Errno::ENOENT
      false
    end
  end

  # Starts the call in a thread, and returns when the call waits.
  def waiting(&call)
    before = eventfds
    in_thread(&call).tap { eventually { eventfds > before } }
  end

  {"reports" => [{}, 25], "room" => [{"queue.buffering.max.messages" => 10}, 10]}
    .each do |what, (properties, sent)|
      test "Thread#kill ends the wait for #{what}" do
        one = stalled(properties) do |one|
          fds = eventfds
          thread = waiting { one.produce(topic_name, encode(["v"] * 25), seconds: 600) }
          thread.kill
          assert_nil ended(thread)
          assert_equal fds, eventfds
          GC.start
        end
        assert_equal [1 + sent], one.produce(topic_name, encode(["last"])).offsets
      end
    end

  test "an exception of a signal's trap ends the wait" do
    stalled do |one|
      before = trap(:USR2) { raise IOError, "a signal" }
      fds = eventfds
      killer = in_thread do
        eventually { eventfds > fds }
        Process.kill(:USR2, Process.pid)
      end
      assert_raises(IOError) { one.produce(topic_name, encode(["v"]), seconds: 600) }
      ended(killer)
    ensure
      trap(:USR2, before) if before
    end
  end

  test "after release a waiting call ends, and produce raises" do
    stalled do |one|
      waiter = waiting { one.produce(topic_name, encode(["v"] * 3), seconds: 600) }
      one.close
      assert_equal [0, 0, 3], ended(waiter).to_a.last(3)
      assert_raises(RuntimeError) { one.deliveries.produce([], 1) }
      one.deliveries.release
    end
  end

  # Ruby of a child that ends while reports are missing. ARGV: the brokers, and a topic.
  EXIT = <<~RUBY
    require "godwit/work"
    kafka = Godwit::Work.const_get(:Kafka)
    kafka::Native.open(kafka::Library.find.path)
    deliveries = kafka::Native::Deliveries.new
    handle = kafka::Handle.new(kafka::Handle::PRODUCER, {"bootstrap.servers" => ARGV[0]}) do |conf|
      deliveries.attach(conf.address)
    end
    deliveries.bind(handle.address)
    topic = kafka::Functions.topic_new(handle.pointer, ARGV[1], nil).address
    bytes = kafka::Block.superclass.encode(["v"] * 100)
    p deliveries.produce([[topic, 0, bytes, 100]], 0).missing
    Thread.new { deliveries.produce([[topic, 0, bytes, 100]], 600) }
    Thread.pass
    deliveries = nil
    GC.start
  RUBY

  test "a process may end while reports are missing" do
    result = run_child(EXIT, [Broker.brokers, topic_name], gems: true)
    assert_equal "100\n", assert_child(result).stdout
  end

  test "errors of the handle are kept, the newest sixteen" do
    one = producer("bootstrap.servers" => "127.0.0.1:1", "reconnect.backoff.max.ms" => 10,
      "reconnect.backoff.ms" => 1)
    errors = []
    eventually { errors.concat(one.deliveries.errors).size > 1 }
    code, text = errors.first
    assert_operator code, :<, 0
    assert_match(/127\.0\.0\.1:1/, text)
    assert_equal Encoding::UTF_8, text.encoding
    assert_operator one.deliveries.errors.size, :<=, 16
  end

  # ---- bad input ----

  GOOD = NativeKafka::Kafka::Block.superclass.encode(%w[ab c], ["k", nil], [[["n", "v"]], nil])
  # What is wrong with a block => the bytes of the block.
  MALFORMED = {
    "empty" => "", "a header that ends" => GOOD[0, 4], "lengths that end" => GOOD[0, 20],
    "records that end" => GOOD[0..-2], "bytes behind the records" => GOOD + "x",
    "more records than lengths" => [0xffffffff].pack("V") + GOOD[4..],
    "a length below -1" => GOOD.b.tap { |bytes| bytes[5, 4] = [-2].pack("l<") },
    "a length beyond the end" => GOOD.b.tap { |bytes| bytes[5, 4] = [1 << 30].pack("l<") },
    "a header without a name" => [1, 2, 0, 8, -1, 0].pack("VCl<l<l<l<"),
    "half a pair" => [1, 2, 0, 4, 0].pack("VCl<l<l<"),
    "a name beyond its record" => [1, 2, 0, 9, 2, -1].pack("VCl<l<l<l<") + "n",
    "a value beyond its record" => [1, 2, 0, 10, 1, 2].pack("VCl<l<l<l<") + "nv"
  }.freeze

  test "malformed blocks and other bad arguments are refused" do
    one = producer
    address = one.topic(topic_name).address
    wrong = MALFORMED.transform_values { |bytes|
      [address, 0, bytes, bytes.unpack1("V").to_i % 1000]
    }
    wrong.update("another count" => [address, 0, GOOD, 3], "no topic" => [0, 0, GOOD, 2],
      "times of another size" => [address, 0, GOOD, 2, "x" * 15])
    wrong.each do |what, batch|
      assert_raises(ArgumentError, what) { one.deliveries.produce([batch], 0) }
    end
    [1, [1], [[]], [[address, 0, :a, 1]], [[address, nil, GOOD, 2]]].each do |batches|
      assert_raises(TypeError, batches.inspect) { one.deliveries.produce(batches, 0) }
    end
    new = NativeKafka::Native::Deliveries.method(:new)
    [-> { one.deliveries.attach(1) }, -> { one.deliveries.bind(1) }, -> { new.call.bind(1) },
      -> { new.call.produce([], 0) }].each { |call| assert_raises(RuntimeError, &call) }
    assert_raises(ArgumentError) { NativeKafka::Native.drain(0, 1, 1) }
  end

  test "random changes of a block are refused, or it is well formed" do
    one = producer
    refused = 0
    2000.times do
      bytes = GOOD.dup
      random.rand(1..3).times { bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
      bytes = bytes[0, random.rand(bytes.bytesize + 1)] if random.rand(3).zero?
      one.produce(topic_name, bytes, seconds: 0) if bytes.bytesize >= 4 && bytes.unpack1("V") < 10
    rescue ArgumentError
      refused += 1
    end
    assert_operator refused, :>, 1000
  end

  test "open takes one library, and names what it lacks" do
    path = NativeKafka::Kafka::Library.find.path
    assert_nil NativeKafka::Native.open(path)
    error = assert_raises(LoadError) { NativeKafka::Native.open("#{path}.other") }
    assert_includes error.message, path
    result = run_child(<<~RUBY, gems: true)
      require "godwit/work"
      native = Godwit::Work.const_get(:Kafka)::Native
      ["/no/such.so", "libm.so.6"].each do |name|
        native.open(name)
      rescue LoadError => error
        puts error.message
      end
      native.drain(1, 1, 1) rescue puts $!.message
      native::Deliveries.new.attach(1) rescue puts $!.message
      puts defined?(FFI).inspect
    RUBY
    lines = assert_child(result).stdout.lines(chomp: true)
    assert_match(%r{cannot open librdkafka: /no/such.so}, lines[0])
    assert_match(/libm.so.6 is no librdkafka.*rd_kafka_err2str, .*rd_kafka_event_destroy/, lines[1])
    assert_equal ["librdkafka is not open: call Native.open"] * 2 + ["nil"], lines[2..]
  end

  # ---- memory ----

  test "the collector may run and compact at any time" do
    one = producer
    texts = ["a" * 10, nil, "b" * 500]
    bytes = encode(texts, ["k", "", nil], [[["n", "v"]], nil, [["m", nil]]])
    one.produce(topic_name, bytes) # before GC.stress: the first call loads classes
    queue = queue(topic_name, offset: 3)
    delivery = stressed { one.produce(topic_name, *[bytes] * 3) }
    found = []
    eventually { found.concat(stressed { queue.drain }).sum(&:count) == 9 }
    GC.compact
    assert_equal (3...12).to_a, delivery.offsets
    assert_equal texts * 3, found.flat_map { |got| Array.new(got.count) { |i| got.values[i] } }
  end

  test "an exception in drain destroys the native messages" do
    producer.produce(topic_name, encode(["v"] * 10))
    queue = queue(topic_name)
    eventually { queue.drain(1, 1).any? }
    raises = true
    NativeKafka::Kafka::Block.prepend(Module.new do
      define_method(:initialize) { |*fields| raises ? raise(IOError, "no block") : super(*fields) }
    end)
    eventually do
      queue.drain && false
    rescue IOError
      true
    end
    queue.close # hangs if a message was not destroyed: librdkafka waits for all messages
    assert_nil queue.handle
  ensure
    raises = false
  end
end
