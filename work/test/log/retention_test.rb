# frozen_string_literal: true

require_relative "engines"

# Retention.
class WorkRetentionTest < Godwit::WorkCase
  include Engines::Tools

  def setup
    super
    not_on :kafka, "the brokers delete old records by retention.ms and retention.bytes"
  end

  DAY = 86_400

  # Runs what is due in so many seconds.
  # @return [Hash{String => Integer}] old records that are kept, by topic
  def retain(later)
    time = engine.now + later * 1000
    engine.stub(:now, time) do
      loop do
        more, held = engine.retain
        return held unless more
      end
    end
  end

  # Runs one slice, two seconds later: each look at the clock takes a second.
  def slice
    calls = 0
    engine.stub(:now, engine.now + 2_000) do
      Godwit.const_get(:Timeout).stub(:now, -> { calls += 1 }) do
        assert_equal [true, {}], engine.retain
      end
    end
  end

  def append(topic, *texts)
    texts.each { |text| engine.append([[topic, 0, block(text), 1]]) }
  end

  test "old blocks are deleted, the last one of a partition never" do
    short, forever = topic("short", retain: 100), topic("forever")
    [short, forever].each { |one| append(one, "a", "b", "c") }
    retain(99)
    assert_equal [0, 3], engine.bounds(short)[0]
    assert_empty retain(101)
    assert_equal [[2, 3], [0, 3]], [engine.bounds(short)[0], engine.bounds(forever)[0]]
    append(short, "d")
    assert_equal %w[c d], values(short, 0)
    assert_equal [3], engine.append([[topic("short"), 0, block("e"), 1]]).map { |at, _| at - 1 }
  end

  test "records that a group has not read are kept, and counted" do
    numbers = topic(retain: 100)
    append(numbers, *"a".."e")
    position = engine.rebalance(engine.join("g", numbers, "/place", [0] * 4)).claims[0]
    position.watermark = 2
    engine.commit([position])
    assert_equal({"numbers" => 2}, retain(101))
    assert_equal [2, 5], engine.bounds(numbers)[0]
    assert_empty retain(31 * DAY), "the group was not seen for 30 days"
    assert_equal [4, 5], engine.bounds(numbers)[0]
  end

  # @return [Array<Integer>] sizes of the blocks of a partition
  def sizes(topic, partition = 0)
    engine.read(topic, partition, 0, 1 << 30).map(&:bytesize)
  end

  test "the oldest blocks above a limit of bytes are deleted" do
    size = stored("x" * 1_000).bytesize
    numbers = topic(retain_bytes: 5 * size)
    append(numbers, *["x" * 1_000] * 3)
    engine.stub(:now, engine.now + 100_000) do
      engine.append([[numbers, 1, block("y" * 1_000), 1]] * 3)
    end
    retain(200)
    assert_equal [[size] * 2, [size] * 3], [sizes(numbers), sizes(numbers, 1)]
    append(numbers, *["z" * 1_000] * 4)
    retain(200)
    assert_equal [[size] * 2, [size] * 3], [sizes(numbers), sizes(numbers, 1)]
    assert_equal [[5, 7], [0, 3]], engine.bounds(numbers).first(2)
  end

  test "a limit of bytes keeps what a group has not read, and the last block" do
    numbers = topic(retain_bytes: 1)
    append(numbers, *"a".."e")
    position = engine.rebalance(engine.join("g", numbers, "/place", [0] * 4)).claims[0]
    position.watermark = 2
    engine.commit([position])
    assert_equal({"numbers" => 2}, retain(1))
    assert_equal({["numbers", "g"] => 2}, engine.held)
    assert_equal [2, 5], engine.bounds(numbers)[0]
    assert_empty retain(31 * DAY)
    assert_equal [4, 5], engine.bounds(numbers)[0]
  end

  test "bytes are counted in slices, once, and also when the limits change" do
    numbers = topic(retain: 1_000)
    append(numbers, *["x"] * 1_100)
    size = sizes(numbers)[0]
    retain(0)
    client.topic("numbers", retain: {seconds: 1_000, bytes: 1_000 * size})
    assert_equal [1_000, 1_000 * size], engine.topics["numbers"].to_a.values_at(4, 5)
    client.topic("numbers")
    assert_equal 1_000 * size, engine.topics["numbers"].retain_bytes
    clock = (1..).each
    Godwit.const_get(:Timeout).stub(:now, -> { clock.next }) do
      assert_equal [true, {}], engine.retain
    end
    assert_equal 1_100, sizes(numbers).size
    retain(0)
    assert_equal 1_000, sizes(numbers).size
    client.topic("numbers", retain: {bytes: 10 * size})
    append(numbers, *["x"] * 5)
    retain(0)
    assert_equal 10, sizes(numbers).size
    client.topic("numbers", retain: nil)
    assert_nil engine.topics["numbers"].retain_bytes
    retain(10**9)
    assert_equal 10, sizes(numbers).size
  end

  test "many blocks are deleted in slices" do
    numbers = topic(retain: 1)
    append(numbers, *Array.new(500, &:to_s))
    slice
    assert_operator engine.bounds(numbers)[0][0], :<, 100
    retain(2)
    assert_equal [499, 500], engine.bounds(numbers)[0]
  end

  test "a slice ends also between partitions with few old blocks, and large blocks" do
    numbers = topic(retain: 1)
    3.times { |part| 3.times { engine.append([[numbers, part, block("a"), 1]]) } }
    slice
    assert_equal [2, 2, 0], engine.bounds(numbers).first(3).map(&:first)
    retain(2)
    6.times { engine.append([[numbers, 0, block("x" * 700_000), 1]]) }
    slice
    assert_equal [7, 9], engine.bounds(numbers)[0]
  end

  test "a group that comes back goes on behind what was deleted" do
    @kind = "sqlite"
    one = client
    one.topic("t", partitions: 1, format: :text, retain: 100)
    3.times { |index| one.produce("t", "old #{index}") }
    engine.join("g", engine.topics["t"], "/nowhere", [0])
    retain(31 * DAY)
    skipped = []
    one.on(:skipped) { |event| skipped << event.values.slice(:from, :to) }
    seen = Thread::Queue.new
    klass = Class.new(Godwit::Work::Consumer) do
      topic "t", format: :text, retain: 100
      group "g"
      define_method(:perform) { |message| seen << message.value }
    end
    runner = Godwit::Work::Runner.new([klass], client: one)
    thread = in_thread { runner.run }
    assert_equal "old 2", seen.pop
    eventually { one.groups[0].lag.zero? }
    assert_equal [{from: 0, to: 2}], skipped
    runner.stop
    ended(thread)
  end
end
