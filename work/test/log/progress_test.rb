# frozen_string_literal: true

require "work_helper"
require "set"
require "timeout"

# Progress stores which records of a partition a group has finished. Its model: a Set and a Hash.
class WorkProgressTest < Godwit::WorkCase
  Progress = Godwit::Work.const_get(:Progress)

  def again(progress) = Progress.new(progress.watermark, progress.dump)

  test "very many records that retention has deleted take no time" do
    progress = Progress.new(7)
    ahead = 20_000
    [10, ahead + 7, ahead + 8, ahead + 10].each { |offset| progress.finish(offset) }
    [8, ahead + 9].each { |offset| progress.fail(offset) }
    progress.finish(7, ahead)
    assert_equal [ahead + 9, 0, 1],
      [progress.watermark, *[8, ahead + 9].map { |offset| progress.attempts(offset) }]
    assert_equal progress.dump, again(progress).dump
    Timeout.timeout(10) { progress.finish(progress.watermark, 1 << 40) } # a loop takes over 10 s
    assert_equal [(1 << 40) + ahead + 9, "\0"], [progress.watermark, progress.dump]
  end

  test "random records, beside a model; its bytes bring everything back" do
    random = Random.new(Minitest.seed)
    progress = Progress.new(1_000)
    finished, attempts = Set.new(0...1_000), Hash.new(0)
    3_000.times do
      offset = progress.watermark - 20 + random.rand(200)
      if finished.include?(offset)
        progress.finish(offset) # a second finish of a record changes nothing
      elsif random.rand(3).zero?
        assert_equal attempts[offset] += 1, progress.fail(offset)
      else
        progress.finish(offset)
        finished << offset
        attempts.delete(offset)
      end
      progress = again(progress) if random.rand(20).zero?
      watermark = (1_000..).find { |at| !finished.include?(at) }
      assert_equal watermark, progress.watermark
    end
    (900..progress.watermark + 300).each do |at|
      assert_equal [finished.include?(at), attempts[at]],
        [progress.finished?(at), progress.attempts(at)], at
    end
  end

  test "the bytes never exceed the limit while no more records run than there is room for" do
    progress = Progress.new(0)
    offset = 0
    progress.fail(0) # record 0 stays unfinished, so the watermark stays 0
    count = 0
    while progress.room(offset + 10_000) > 0
      (count += 1).odd? ? progress.finish(offset += 1_000) : progress.fail(offset += 1_000)
      break if progress.watermark > 0
    end
    assert_equal 0, progress.room(offset + 10_000)
    assert_operator progress.dump.bytesize, :<=, 3_000
    assert_operator count, :>=, 300
  end

  test "records that finish nearly in order need no room" do
    start = 1 << 40
    progress = Progress.new(start)
    50_000.times do |count|
      assert_operator progress.room(start + count + 10_000), :>, 400 if (count % 97).zero?
      progress.watermark if (count % 16).zero?
      progress.finish(start + (count ^ 1)) # finishes 1, 0, 3, 2 and so on
    end
    assert_equal [start + 50_000, "\0"], [progress.watermark, progress.dump]
  end
end
