# frozen_string_literal: true

require "support/running_consumers"

# Consumers whose handler gets a batch of records.
class WorkBatchesTest < Godwit::WorkCase
  include RunningConsumers

  # Writes records with these values. A consumer, whose handler is the block, finishes all of them.
  def consume(*values, &block)
    declare
    declare("out")
    produce(*values)
    run_consumers(consumer(:consume, &block))
    finished(values.size)
  end

  test "transaction in consume commits the current record, or those that it is given" do
    not_on :kafka, "transaction is SQL on the SQLite file of the log"
    consume(*"a".."d") do |batch|
      batch.each do |message|
        produce("out", message.value)
        transaction { nil } if message.value == "a"
        raise "no" if message.value == "c" && message.attempt == 1
      end
      transaction(batch) { nil } if batch.any? { |message| message.value == "d" }
    end
    assert_equal [%w[a b c d], []], [values("out").sort, dead]
  end

  test "what a batch does outside of each finishes no record by itself" do
    seen, errors = self.seen, []
    consume(*"a".."h") do |batch|
      batch.each_slice(3) do |slice|
        raise "no" if batch.size > 1 && seen.empty? && slice.size > 1
        slice.each { |message| seen << message.value }
      end
      begin
        transaction { nil }
      rescue Godwit::StateError => error
        errors << error.message
      end
    end
    assert_equal [*"a".."h"], next_seen(seen.size).uniq.sort
    assert_match(/which records\? write transaction/, errors.first)
  end

  test "a batch is an Enumerable, whose current record is that of each" do
    messages = Array.new(3) { Work::Message.allocate }
    batch = Work::Batch.new(messages)
    assert_equal [3, false, messages.last, messages.last(2), messages[1], messages[0, 2]],
      [batch.length, batch.empty?, batch.last, batch.last(2), batch[1], batch[0, 2]]
    batch.each { |one| assert_same one, batch.current if batch.count == 3 && batch.to_a.any? }
    assert_equal [true] * 3, batch.each_with_index.map { |one, _| one.equal?(batch.current) }
    assert_nil batch.current
    batch.each { break }
    assert_nil batch.current
  end

  test "consume that raises: the current record fails; those before it, and their outputs, count" do
    runs = Thread::Queue.new
    consume(*"a".."e") do |batch|
      batch.each do |message|
        runs << "#{message.value}#{message.attempt}"
        produce("out", "#{message.value}#{message.attempt}")
        raise "no" if message.value == "c" && message.attempt < 3
      end
    end
    assert_equal %w[a1 b1 c1 c2 c3 d1 e1], Array.new(runs.size) { runs.pop }.sort
    assert_equal %w[a1 b1 c3 d1 e1], values("out").sort
  end

  test "consume that raises elsewhere: the batch runs again, one record at a time" do
    batches = Thread::Queue.new
    consume(*"a".."d") do |batch|
      batches << batch.map(&:value)
      raise "no" if batch.size > 1 || batch.first.value == "b"
    end
    alone = Array.new(batches.size) { batches.pop }.select { |batch| batch.size == 1 }
    assert_equal [1, 3, %w[b]], [alone.count(["d"]), alone.count(["b"]), dead.map(&:value)]
  end
end
