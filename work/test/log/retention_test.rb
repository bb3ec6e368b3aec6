# frozen_string_literal: true

require_relative "engines"

# Retention, on both engines.
class WorkRetentionTest < Godwit::WorkCase
  extend Engines
  include Engines::Tools

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

  def append(topic, *texts)
    texts.each { |text| engine.append([[topic, 0, block(text), 1]]) }
  end

  each_engine "old blocks are deleted, the last one of a partition never" do
    short, forever = topic("short", retain: 100), topic("forever")
    [short, forever].each { |one| append(one, "a", "b", "c") }
    retain(99)
    assert_equal [0, 3], engine.bounds(short, 0)
    assert_empty retain(101)
    assert_equal [[2, 3], [0, 3]], [engine.bounds(short, 0), engine.bounds(forever, 0)]
    append(short, "d")
    assert_equal %w[c d], values(short, 0)
    assert_equal [3], engine.append([[topic("short"), 0, block("e"), 1]]).map { |at, _| at - 1 }
  end

  each_engine "records that a group has not read are kept, and counted" do
    numbers = topic(retain: 100)
    append(numbers, *"a".."e")
    position = engine.rebalance(engine.join("g", numbers, "/place", [0] * 4)).claims[0]
    position.watermark = 2
    engine.commit([position])
    assert_equal({"numbers" => 2}, retain(101))
    assert_equal [2, 5], engine.bounds(numbers, 0)
    assert_empty retain(31 * DAY), "the group was not seen for 30 days"
    assert_equal [4, 5], engine.bounds(numbers, 0)
  end

  each_engine "many blocks are deleted in slices" do
    numbers = topic(retain: 1)
    append(numbers, *Array.new(500, &:to_s))
    calls = 0
    clock = -> { calls += 1 } # each look at the clock is a second later
    engine.stub(:now, engine.now + 2_000) do
      Godwit.const_get(:Timeout).stub(:now, clock) { assert_equal [true, {}], engine.retain }
    end
    assert_operator engine.bounds(numbers, 0)[0], :<, 100
    retain(2)
    assert_equal [499, 500], engine.bounds(numbers, 0)
  end

  test "a group that comes back goes on behind what was deleted" do
    @kind = "sqlite"
    one = client
    one.topic("t", partitions: 1, format: :text, retain: 100)
    3.times { |index| one.produce("t", "old #{index}") }
    engine.join("g", engine.topic("t"), "/nowhere", [0])
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
