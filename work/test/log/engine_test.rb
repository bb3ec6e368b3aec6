# frozen_string_literal: true

require_relative "engines"

# What each engine promises: see Godwit::Work::Contract.
class WorkEngineTest < Godwit::WorkCase
  include Engines::Tools

  test "a topic stays as it was created" do
    assert_nil engine.topics["numbers"]
    assert_empty engine.topics
    created = topic(partitions: 3, format: "raw", retain: 60)
    assert_equal ["numbers", 3, "raw", 60],
      [created.name, created.partitions, created.format, created.retain]
    assert_equal created, topic(partitions: 5, format: "json")
    assert_equal created, engine.topics["numbers"]
    assert_nil topic("forever").retain
    assert_equal %w[forever numbers], engine.topics.keys
    assert_predicate created, :frozen?
  end

  test "offsets go up by the records of each block, for each partition by itself" do
    numbers, other = topic, topic("other")
    assert_equal [0, 0], engine.bounds(numbers)[1]
    places = engine.append([[numbers, 1, block("a", "b"), 2], [numbers, 1, block("c"), 1],
      [numbers, 2, block("d"), 1], [other, 1, block("e"), 1]])
    assert_equal [0, 2, 0, 0], offsets(places)
    assert_equal [3], offsets(engine.append([[numbers, 1, block("f"), 1]]))
    assert_equal [[[0, 0], [0, 4], [0, 1], [0, 0]], [[0, 0], [0, 1], [0, 0], [0, 0]]],
      [engine.bounds(numbers), engine.bounds(other)]
    assert_equal [%w[a b c f], %w[d], %w[e]],
      [values(numbers, 1), values(numbers, 2), values(other, 1)]
  end

  test "reading begins with the record at the offset, and ends with the partition" do
    numbers = topic
    engine.append(Array.new(5) { |index| [numbers, 0, block("#{index}a", "#{index}b"), 2] })
    assert_equal %w[1b 2a 2b 3a 3b 4a 4b], values(numbers, 0, 3)
    assert_equal %w[4b], values(numbers, 0, 9)
    assert_empty engine.read(numbers, 1, 0, 1 << 20)
  end

  test "reading begins with the block that holds the offset, and ends after enough bytes" do
    not_on :kafka, "a block holds the records that librdkafka has fetched, and not those of a call"
    numbers = topic
    engine.append(Array.new(5) { |index| [numbers, 0, block("#{index}a", "#{index}b"), 2] })
    assert_equal [2, 4], engine.read(numbers, 0, 3, stored("0a", "0b").bytesize + 1).map(&:offset)
    assert_equal [8], engine.read(numbers, 0, 9, 1 << 20).map(&:offset)
    assert_equal [8], engine.read(numbers, 0, 10, 1).map(&:offset), "the last block"
  end

  test "a member's block says that records before it are lost" do
    not_on :kafka, "only the oldest records of a partition can be lost"
    numbers = topic
    engine.append(Array.new(4) { |index| [numbers, 0, block("#{index}a", "#{index}b"), 2] })
    position = engine.rebalance(engine.join("g", numbers, "/place", [0] * 4)).claims[0]
    gaps = lambda do |offset|
      engine.fetch(position, offset, 1 << 20).map { |one| [one.offset, !!one.behind_gap] }
    end
    whole = [0, 2, 4, 6].map { |offset| [offset, false] }
    assert_equal [whole, whole.drop(1)], [gaps.call(0), gaps.call(3)]
    rows = "DELETE FROM godwit_blocks WHERE (id & 15) = ?"
    engine.file.transaction { |database| database.rows(rows, 4) }
    assert_equal [[[2, false], [6, true]]] * 2, [gaps.call(3), gaps.call(4)]
    engine.file.transaction { |database| database.rows(rows, 0) }
    assert_equal [[2, true], [6, true]], gaps.call(0)
  end

  test "the offset at a time is that of the first record at or after it, else the end" do
    not_on :kafka, "the time of a record is that of its producer, and no clock of a test"
    numbers = topic
    time = engine.now
    engine.stub(:now, time) { engine.append([[numbers, 0, block("a", "b"), 2]]) }
    engine.stub(:now, time + 10) { engine.append([[numbers, 0, block("c"), 1]]) }
    assert_equal [0, 0, 2, 2, 3],
      [0, time, time + 1, time + 10, time + 11].map { |at| engine.bounds(numbers, at)[0][0] }
    assert_equal 0, engine.bounds(numbers)[1][0]
    # The clock jumps back: offsets order the records.
    engine.stub(:now, time - 1_000) { engine.append([[numbers, 0, block("d"), 1]]) }
    assert_equal [[0, 4], %w[a b c d]], [engine.bounds(numbers)[0], values(numbers, 0)]
  end

  test "threads that append at once get offsets of their own" do
    numbers = topic
    found = Array.new(8) do |thread|
      in_thread do
        Array.new(50) do |index|
          offsets(engine.append([[numbers, 0, block("#{thread}-#{index}"), 1]]))[0]
        end
      end
    end.map { |thread| ended(thread) }
    assert_equal (0...400).to_a, found.flatten.sort
    found.each { |own| assert_equal own.sort, own }
    all = values(numbers, 0)
    found.each_with_index do |own, thread|
      assert_equal (0...50).map { |index| "#{thread}-#{index}" }, own.map { |offset| all[offset] }
    end
  end

  test "a closed engine says so" do
    numbers = topic
    refute_predicate engine, :closed?
    assert_nil engine.close
    assert_predicate engine, :closed?
    assert_match(/\(closed\)/, engine.inspect)
    assert_refused(Godwit::Work::ClosedError,
      -> { engine.append([[numbers, 0, block("a"), 1]]) } => /connect again/,
      -> { engine.topics } => /connect again/)
    assert_nil engine.close
  end

  test "an engine that lacks a primitive is refused" do
    engine = Class.new { def read = nil }
    assert_refused(NotImplementedError,
      -> { Godwit::Work.const_get(:Contract).check(engine) } =>
        /lacks topics, save_topic, append, fetch, bounds/)
  end

  test "a topic grows: each group reads the new partitions from their beginning" do
    numbers = topic(partitions: 2)
    member = engine.join("g", numbers, place, [0, 0])
    assert_equal [0, 1], claims(member, 2).map(&:partition)
    grown = engine.save_topic(numbers.dup.tap { |wanted| wanted.partitions = 4 })
    assert_equal [4, numbers.ids], [grown.partitions, grown.ids.first(2)]
    engine.append([[grown, 3, block("a"), 1]])
    late = engine.join("late", numbers, place, [0, 0]) # it does not know of the growth
    assert_equal [0, 1, 2, 3], claims(late, 4).map(&:partition)
    added = claims(member, 2)
    assert_equal [[2, 0], [3, 0]], added.map { |one| [one.partition, one.watermark] }
    added.last.watermark = 1
    engine.commit([added.last])
    assert_equal [0, 0, 0, 1], engine.positions("g", grown).map(&:watermark)
  end
end
