# frozen_string_literal: true

require "work_helper"

# What a process has in memory of a partition.
class WorkAssignmentTest < Godwit::WorkCase
  Work = Godwit::Work

  test "it takes no more records while 64 MiB are unfinished, and goes on when they are finished" do
    topic = Work::Topic.new(name: "t", partitions: 1, ids: [1])
    position = Work.const_get(:Groups)::Position.new("g", topic, 0, 1, 1, 0, nil, 0, nil, 0)
    klass = Class.new(Work::Consumer) { topic "t" }
    assignment = Work.const_get(:Assignment).new(position, klass)
    bytes = Work.const_get(:Block).encode(["x" * (1 << 20)])
    block = Work.const_get(:Block).new(bytes, "here")
    feed = lambda do |offset|
      assignment.feed(Work.const_get(:Source).new(topic, nil, 0, offset, 0, block))
    end
    64.times { |offset|
      assert_predicate assignment, :hungry?
      feed.call(offset)
    }
    refute_predicate assignment, :hungry?
    lane, messages = assignment.take(64, 1).first
    assignment.finish(messages)
    assignment.give_back(lane, [])
    assert_predicate assignment, :hungry?
    assert assignment.idle?
  end
end
