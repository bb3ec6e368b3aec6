# frozen_string_literal: true

require "support/kafka_failures"
require "support/kafka_administration"

# A topic or its oldest records are deleted.
class WorkKafkaTopicsTest < Godwit::KafkaFailureCase
  include KafkaAdministration

  def write(ids, client = self.client)
    client.produce_many(from, ids.map { |id| [{id: id}, "k#{id % 40}"] })
  end

  def outputs = client.each(to).map { |one| one.value[:id] }

  def write_and_handle(ids)
    write(ids)
    eventually(deadline: 90) { outputs.size == ids.size && lag.zero? }
  end

  # When the topic is made again => the ids of its new records. With "at once", these are so few
  # that the offsets which the group has committed are greater than the new topic's offsets.
  {"after the errors" => 200...400, "at once" => 200...240}.each do |time, ids|
    test "a topic is deleted, and made again #{time}: consumers go on" do
      consume_by(2)
      write_and_handle(0...200)
      delete_topic(from)
      await_errors if time == "after the errors"
      again = own(Work::Client.new(engine)) # a new client has not cached the deleted topic
      again.topic(from, partitions: PARTITIONS)
      write(ids, again)
      eventually("the records of the new topic", deadline: 90) do
        (ids.to_a - outputs).empty? && lag.zero?
      end
      assert_equal (0...ids.end).to_a, outputs.sort
      stop_consuming
    end
  end

  def await_errors
    eventually("an error of each consumer", deadline: 90) do
      events(:error).select { |one| one.values[:error].include?(from) }.map(&:pid).uniq.size == 2
    end
    assert_includes events(:error).map { |one| one.values[:error] }.join, "UNKNOWN_TOPIC"
  end

  # Deletes all records but the last five of each partition.
  # @return [Array] the log's new start by partition; the ids of the remaining records
  def delete_oldest
    starts = client.engine.bounds(client.engine.topics[from]).each_with_index
      .to_h { |(_, finish), number| [number, finish - 5] }
    delete_records(from, starts)
    [starts, client.each(from).map { |one| one.value[:id] }]
  end

  test "the log's start is moved past the offset of a group that is away" do
    consume.wait_for(/^ready$/)
    write_and_handle(0...200)
    stop_consuming
    write(200...600)
    places = committed.transform_values(&:watermark)
    starts, remaining = delete_oldest
    assert_equal PARTITIONS * 5, remaining.size
    consume.wait_for(/^ready$/)
    eventually(deadline: 90) { (remaining - outputs).empty? && lag.zero? }
    skipped = events(:skipped).map do |one|
      one.values.values_at(:partition, :from, :to).map(&:to_i)
    end
    assert_equal starts.map { |number, start| [number, places[number], start] }, skipped.sort
    assert_equal [*0...200, *remaining].sort, outputs.sort
    stop_consuming
  end

  test "the log's start is moved past the offset of a consumer that runs" do
    one = consume(pause: 0.05).wait_for(/^ready$/)
    write(0...40)
    eventually(deadline: 90) { outputs.any? }
    one.signal(:STOP)
    write(40...4_000)
    _, remaining = delete_oldest
    one.signal(:CONT)
    eventually(deadline: 90) { lag.zero? && (remaining - outputs).empty? }
    assert_equal outputs.uniq.size, outputs.size
    stop_consuming
  end
end
