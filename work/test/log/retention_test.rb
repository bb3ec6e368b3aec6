# frozen_string_literal: true

require "support/running_consumers"

# Retention deletes old blocks, and blocks above a topic's limit of bytes.
class WorkRetentionTest < Godwit::WorkCase
  include RunningConsumers

  def setup
    super
    not_on :kafka, "the brokers delete old records by retention.ms and retention.bytes"
  end

  DAY = 86_400

  # Runs retention as if `later` seconds had passed.
  # @return [Hash{String => Integer}] topic => old records that a group has not read
  def retain(later)
    time = engine.now + later * 1000
    engine.stub(:now, time) do
      loop do
        more, held = engine.retain
        return held unless more
      end
    end
  end

  # Runs one slice of retention, as if two seconds had passed. A slice ends after about 10 ms: here
  # after few reads of the clock, since each read adds a second.
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

  # @return [Array<Array(Integer, Integer)>] first offset and end of the first `count` partitions
  def bounds(topic, count) = engine.bounds(topic).first(count)

  test "old blocks are deleted, the last one of a partition never" do
    short, forever = topic("short", retain: 100), topic("forever")
    [short, forever].each { |one| append(one, "a", "b", "c") }
    retain(99)
    assert_equal [[0, 3]], bounds(short, 1)
    assert_empty retain(101)
    assert_equal [[2, 3], [0, 3]], [*bounds(short, 1), *bounds(forever, 1)]
    append(short, "d")
    assert_equal [2, 4], engine.bounds(short)[0]
    assert_equal %w[c d], engine.read(short, 0, 2, 1 << 20).map { |one| one.values[0] }
  end

  {"old records" => [{retain: 100}, 101], "a limit of bytes" => [{retain_bytes: 1}, 1]}
    .each do |what, (limit, later)|
      test "#{what}: what a group has not read is retained, and counted; and the last block" do
        numbers = topic(**limit)
        append(numbers, *"a".."e")
        position = engine.rebalance(engine.join("g", numbers, "/place", [0] * 4)).claims[0]
        position.watermark = 2
        engine.commit([position])
        assert_equal({"numbers" => 2}, retain(later))
        held = engine.stub(:now, engine.now + later * 1_000) { engine.held }
        assert_equal [{["numbers", "g"] => 2}, [[2, 5]]], [held, bounds(numbers, 1)]
        assert_empty retain(31 * DAY), "the group was not seen for 30 days"
        assert_equal [[4, 5]], bounds(numbers, 1)
      end
    end

  # @return [Array<Integer>] bytes of each block of a partition
  def sizes(topic, partition = 0)
    engine.read(topic, partition, 0, 1 << 30).map(&:bytesize)
  end

  test "the oldest blocks above a limit of bytes are deleted" do
    size = stored("x" * 1_000).bytesize
    numbers = topic(retain_bytes: 5 * size)
    engine.stub(:now, engine.now + 100_000) do
      engine.append([[numbers, 1, block("y" * 1_000), 1]] * 3)
    end
    {"x" => [[1, 3], [0, 3]], "z" => [[5, 7], [0, 3]]}.each do |text, wanted|
      append(numbers, *[text * 1_000] * (wanted[0][1] - engine.bounds(numbers)[0][1]))
      retain(200)
      assert_equal [[size] * 2, [size] * 3], [sizes(numbers), sizes(numbers, 1)]
      assert_equal wanted, bounds(numbers, 2)
    end
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
    slice
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

  test "many blocks are deleted in slices, which also end between partitions and large blocks" do
    numbers = topic(retain: 1)
    append(numbers, *Array.new(500, &:to_s))
    slice
    assert_operator engine.bounds(numbers)[0][0], :<, 100
    retain(2)
    assert_equal [[499, 500]], bounds(numbers, 1)
    [1, 2, 3].each { |number| 3.times { engine.append([[numbers, number, block("a"), 1]]) } }
    slice
    assert_equal [2, 2, 0], engine.bounds(numbers).drop(1).map(&:first)
    retain(2)
    append(numbers, *["x" * 700_000] * 6)
    slice
    assert_equal [[504, 506]], bounds(numbers, 1)
  end

  test "a group that comes back goes on behind what was deleted" do
    client.topic("t", partitions: 1, format: :text, retain: 100)
    produce("old 0", "old 1", "old 2")
    produce("old 3")
    engine.join("g", engine.topics["t"], "/nowhere", [0])
    retain(31 * DAY)
    skipped = events(:skipped)
    run_consumers(noting(partitions: nil))
    assert_equal "old 3", seen.pop
    eventually { client.groups[0].lag.zero? }
    assert_equal [{from: 0, to: 3}], skipped.map { |event| event.values.slice(:from, :to) }
  end
end
