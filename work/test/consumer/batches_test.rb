# frozen_string_literal: true

require "support/running_consumers"

# Consumers that take batches.
class WorkBatchesTest < Godwit::WorkCase
  include RunningConsumers

  test "transaction in consume commits the current record, or those that it is given" do
    not_on :kafka, "transaction is SQL on the SQLite file of the log"
    declare
    declare("out")
    produce(*"a".."d")
    run_consumers(consumer(:consume) { |batch|
      batch.each do |message|
        produce("out", message.value)
        transaction { nil } if message.value == "a"
        raise "no" if message.value == "c" && message.attempt == 1
      end
      transaction(batch) { nil } if batch.any? { |message| message.value == "d" }
    })
    finished(4)
    assert_equal %w[a b c d], values("out").sort
    assert_empty dead
  end

  test "what a batch does outside of each finishes no record by itself" do
    declare
    seen = Thread::Queue.new
    errors = Thread::Queue.new
    produce(*"a".."h")
    run_consumers(consumer(:consume) { |batch|
      batch.each_slice(3) do |slice|
        raise "no" if batch.size > 1 && seen.empty? && slice.size > 1
        slice.each { |message| seen << message.value }
      end
      begin
        transaction { nil }
      rescue Godwit::StateError => error
        errors << error.message
      end
    })
    finished(8)
    assert_equal [*"a".."h"], Array.new(seen.size) { seen.pop }.uniq.sort
    assert_match(/which records\? write transaction/, errors.pop)
    messages = Array.new(3) { Work::Message.allocate }
    batch = Work::Batch.new(messages)
    assert_equal [3, false, messages.last, messages.last(2), messages[1], messages[0, 2]],
      [batch.length, batch.empty?, batch.last, batch.last(2), batch[1], batch[0, 2]]
    batch.each { |one| assert_same one, batch.current if batch.count == 3 && batch.to_a.any? }
    assert_equal [0, 1, 2], [].tap { |found|
      batch.each_with_index { |one, at| found << at if one.equal?(batch.current) }
    }
    assert_nil batch.current
    batch.each { break }
    assert_nil batch.current
  end

  test "consume that raises: the current record fails, the ones before it are finished" do
    declare
    seen = Thread::Queue.new
    produce(*"a".."e")
    run_consumers(consumer(:consume) { |batch|
      batch.each do |message|
        seen << [message.value, message.attempt]
        raise "no" if message.value == "c" && message.attempt < 3
      end
    })
    finished(5)
    counts = Array.new(seen.size) { seen.pop }.tally
    assert_equal [1] * 7, counts.values
    assert_equal [["c", 1], ["c", 2], ["c", 3]], counts.keys.select { |pair| pair[0] == "c" }
  end

  test "the outputs of a batch are those of its finished records" do
    declare
    declare("out")
    produce(*"a".."e")
    run_consumers(consumer(:consume) { |batch|
      batch.each do |message|
        produce("out", "#{message.value}#{message.attempt}")
        raise "no" if message.value == "c" && message.attempt < 2
      end
    })
    finished(5)
    assert_equal %w[a1 b1 c2 d1 e1], values("out").sort
  end

  test "consume that raises elsewhere: the batch runs again, one record at a time" do
    declare
    batches = Thread::Queue.new
    produce(*"a".."d")
    run_consumers(consumer(:consume) { |batch|
      all = batch.map(&:value)
      batches << all
      raise "no" if all.size > 1 || all == ["b"]
    })
    finished(4)
    alone = Array.new(batches.size) { batches.pop }.select { |batch| batch.size == 1 }.flatten.tally
    assert_equal 1, alone["d"]
    assert_equal 3, alone["b"]
    assert_equal ["b"], dead.map(&:value)
  end
end
