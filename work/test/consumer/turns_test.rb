# frozen_string_literal: true

require "work_helper"

# Turns decides which records run at the same time, and which alone.
class WorkTurnsTest < Godwit::WorkCase
  # Stands in for an Assignment, in which each lane has one record.
  Partition = Struct.new(:isolated, :records, :halted) do
    def isolated? = isolated
    def halted? = halted
    def waiting = records.size
    def dequeue(most, _) = records.shift(isolated ? 1 : most).map { |one| [one, [one]] }
  end

  def setup
    super
    @time = 0.0
    @turns = Godwit::Work.const_get(:Turns).new(2, -> { @time })
    @alone = Partition.new(true, [1, 2], false)
    @other = Partition.new(false, [3, 4, 5], false)
    @workers = Array.new(2) { @turns.chunk }
  end

  def take(worker, *assignments)
    @turns.assign(@workers[worker], assignments, 2)&.then { @workers[worker].lanes.map(&:first) }
  end

  # Ends the run of a worker's records, as a worker does.
  def leave(worker)
    @workers[worker].lanes.clear
    @workers[worker].assignment = nil
  end

  test "a record of an isolated partition runs alone, until its note is removed" do
    assert_equal [1], take(0, @alone)
    assert_same @alone, @turns.alone
    assert_nil take(1, @other)
    leave(0)
    assert_nil take(1, @other)
    assert_nil take(1, @alone)
    @turns.finish
    assert_equal [3, 4], take(1, @other)
  end

  test "it waits for those that run, and they take no new records meanwhile" do
    assert_equal [3, 4], take(0, @other)
    assert_nil take(1, @alone)
    assert_nil take(1, @other)
    assert_nil take(1), "the lane that the other worker has not begun"
    leave(0)
    assert_nil take(0, @other)
    assert_equal [1], take(0, @alone)
    leave(0)
    @turns.finish
    assert_equal [5], take(1, @other), "the others wait no longer"
  end

  test "a record that takes long is waited for once, for a second" do
    take(0, @other)
    @workers[0].lanes.clear # the worker has begun the record
    assert_nil take(1, @alone)
    @time += 1
    assert_equal [1], take(1, @alone)
    leave(1)
    @turns.finish
    assert_equal [2], take(1, @alone)
  end

  test "others wait for a record that runs alone for a second" do
    take(0, @alone)
    assert_nil take(1, @other)
    @time += 1
    assert_equal [3, 4], take(1, @other)
    leave(1)
    assert_nil take(1, @alone)
  end

  test "the partitions take turns" do
    taken = Array.new(4) do
      take(0, @alone, @other).tap do
        leave(0)
        @turns.finish
      end
    end
    assert_includes [[[1], [3, 4], [2], [5]], [[3, 4], [1], [5], [2]]], taken
  end
end
