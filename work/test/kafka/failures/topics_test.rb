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

  test "a topic is deleted and made again: consumers say so, and go on" do
    consume_by(2)
    write(0...200)
    eventually(deadline: 90) { outputs.size == 200 && lag.zero? }
    delete_topic(from)
    eventually("an error of each consumer", deadline: 90) do
      events(:error).select { |one| one.values[:error].include?(from) }.map(&:pid).uniq.size == 2
    end
    # Another process knows nothing of the old one.
    again = own(Work::Client.new(engine))
    again.topic(from, partitions: PARTITIONS)
    write(200...400, again)
    eventually("the records of the new topic", deadline: 90) { outputs.max == 399 && lag.zero? }
    assert_equal (0...400).to_a, outputs.sort
    eventually(deadline: 90) { lag.zero? }
    assert_includes events(:error).map { |one| one.values[:error] }.join, "UNKNOWN_TOPIC"
    stop_consuming
  end

  # The offsets of the group are behind the end of the new topic.
  test "a topic is made again at once" do
    consume_by(2)
    write(0...200)
    eventually(deadline: 90) { outputs.size == 200 && lag.zero? }
    delete_topic(from)
    again = own(Work::Client.new(engine))
    again.topic(from, partitions: PARTITIONS)
    write(200...240, again)
    eventually("the records of the new topic", deadline: 90) do
      ((200...240).to_a - outputs).empty? && lag.zero?
    end
    assert_equal (0...240).to_a, outputs.sort
    stop_consuming
  end

  test "the log's start is moved past the offset of a group that is away" do
    consume.wait_for(/^ready$/)
    write(0...200)
    eventually(deadline: 90) { outputs.size == 200 && lag.zero? }
    stop_consuming
    write(200...600)
    starts = client.engine.bounds(client.engine.topics[from]).each_with_index
      .to_h { |(_, finish), number| [number, finish - 5] }
    places = committed.transform_values(&:watermark)
    delete_records(from, starts)
    left = client.each(from).map { |one| one.value[:id] }
    assert_equal PARTITIONS * 5, left.size
    consume.wait_for(/^ready$/)
    eventually(deadline: 90) { (left - outputs).empty? && lag.zero? }
    skipped = events(:skipped).map do |one|
      one.values.values_at(:partition, :from, :to).map(&:to_i)
    end
    assert_equal starts.map { |number, start| [number, places[number], start] }, skipped.sort
    assert_equal [*0...200, *left].sort, outputs.sort
    stop_consuming
  end

  test "the log's start is moved past the offset of a consumer that runs" do
    one = consume(pause: 0.05).wait_for(/^ready$/)
    write(0...40)
    eventually(deadline: 90) { outputs.any? }
    one.signal(:STOP)
    write(40...4_000)
    starts = client.engine.bounds(client.engine.topics[from]).each_with_index
      .to_h { |(_, finish), number| [number, finish - 5] }
    delete_records(from, starts)
    left = client.each(from).map { |one| one.value[:id] }
    one.signal(:CONT)
    eventually(deadline: 90) { lag.zero? && (left - outputs).empty? }
    assert_equal outputs.uniq.size, outputs.size
    stop_consuming
  end
end
