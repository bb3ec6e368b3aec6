# frozen_string_literal: true

require "work_helper"

# Assignment: the records of one partition that a process has in memory.
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

  # @param columns [Array] the values, the keys and the headers of the block's records
  def feed(offset, *columns)
    block = Work.const_get(:Block).new(Work.const_get(:Block).encode(*columns), offset, 0)
    assignment.feed(Work.const_get(:Source).new(topic, nil, 0, offset, block))
  end

  # The bytes of values, keys and headers all count towards the limit.
  test "it takes no more records while 64 MiB of blocks have unfinished records" do
    values = ["x" * (1 << 18)] * 2
    headers = [[["h", "x" * (1 << 18)]]] * 2
    64.times do |index|
      assert_predicate assignment, :hungry?
      feed(2 * index, values, ["slow", "fast"], headers)
      lanes = assignment.dequeue(2, 2)
      lanes.each { |lane, messages| end_lane(lane, messages) if messages[0].key == "fast" }
      @slow = [*@slow, *lanes.select { |_, messages| messages[0].key == "slow" }]
    end
    refute_predicate assignment, :hungry?
    end_lane(*@slow[0])
    assert_predicate assignment, :hungry?
  end

  def end_lane(lane, messages)
    assignment.finish(messages)
    assignment.give_back(lane, [])
  end
end
