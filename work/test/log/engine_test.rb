# frozen_string_literal: true

require_relative "engines"

# Tests of the methods that each engine has: see Godwit::Work::Contract.
class WorkEngineTest < Godwit::WorkCase
  include Engines

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

  test "an engine that lacks a primitive is refused" do
    assert_refused(NotImplementedError, -> { Godwit::Work.const_get(:Contract).check(Object) } =>
      /lacks topics, save_topic, append, read, fetch, bounds/)
  end

  test "a topic grows: each group reads the new partitions from their beginning" do
    numbers = topic(partitions: 2)
    member = engine.join("g", numbers, place, [0, 0])
    assert_equal [0, 1], claims(member, 2).map(&:partition)
    grown = engine.save_topic(numbers.dup.tap { |wanted| wanted.partitions = 4 })
    assert_equal [4, numbers.ids], [grown.partitions, grown.ids.first(2)]
    engine.append([[grown, 3, block("a"), 1]])
    late = engine.join("late", numbers, place, [0, 0]) # `numbers` still has 2 partitions
    assert_equal [0, 1, 2, 3], claims(late, 4).map(&:partition)
    added = claims(member, 2)
    assert_equal [[2, 0], [3, 0]], added.map { |one| [one.partition, one.watermark] }
    added.last.watermark = 1
    engine.commit([added.last])
    assert_equal [0, 0, 0, 1], engine.positions("g", grown).map(&:watermark)
  end
end
