# frozen_string_literal: true

require "work_helper"

# What a process has in memory of a partition.
class WorkAssignmentTest < Godwit::WorkCase
  Work = Godwit::Work

  # @return [Godwit::Work::Assignment]
  def assignment
    @assignment ||= begin
      position = Work.const_get(:Position).new("g", topic, 0, 1, 1, 0, nil, 0, nil, 0)
      klass = Class.new(Work::Consumer) do
        topic "t"
        parallel by: :key
      end
      Work.const_get(:Assignment).new(position, klass)
    end
  end

  def topic = @topic ||= Work::Topic.new(name: "t", partitions: 1, ids: [1])

  # @param columns [Array] of a block
  def feed(offset, *columns)
    block = Work.const_get(:Block).new(Work.const_get(:Block).encode(*columns), offset, 0)
    assignment.feed(Work.const_get(:Source).new(topic, nil, 0, offset, block))
  end

  test "it takes no more records while 64 MiB are unfinished, and goes on when they are finished" do
    64.times { |offset|
      assert_predicate assignment, :hungry?
      feed(offset, ["x" * (1 << 20)])
    }
    refute_predicate assignment, :hungry?
    lane, messages = assignment.dequeue(64, 1).first
    assignment.finish(messages)
    assignment.give_back(lane, [])
    assert_predicate assignment, :hungry?
    assert assignment.idle?
  end

  test "the bytes of a block count until all of its records are finished" do
    values = ["x" * (1 << 19)] * 2
    64.times do |index|
      assert_predicate assignment, :hungry?
      feed(2 * index, values, ["slow", "fast"])
      lanes = assignment.dequeue(2, 2)
      lanes.each { |lane, messages| end_lane(lane, messages) if messages[0].key == "fast" }
      @slow = [*@slow, *lanes.select { |_, messages| messages[0].key == "slow" }]
    end
    refute_predicate assignment, :hungry?
    end_lane(*@slow[0])
    assert_predicate assignment, :hungry?
  end

  test "keys and headers count as values do" do
    feed(0, ["x"], ["k"], [[["h", "x" * (64 << 20)]]])
    refute_predicate assignment, :hungry?
  end

  def end_lane(lane, messages)
    assignment.finish(messages)
    assignment.give_back(lane, [])
  end
end
