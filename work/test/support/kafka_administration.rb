# frozen_string_literal: true

require "support/kafka_cleaner"

# Sends requests to a broker that godwit-work itself never sends.
module KafkaAdministration
  KAFKA = Godwit::Work.const_get(:Kafka)

  def delete_topic(name)
    administer(:DeleteTopics, :topics, KAFKA::Functions.DeleteTopic_new(name))
    eventually("the end of the topic") { !client.engine.topics.key?(name) }
  end

  # @param offsets [Hash{Integer => Integer}] partition => the log's new start
  def delete_records(topic, offsets)
    entries = offsets.map do |number, offset|
      KAFKA::PartitionList::Entry.new(topic, number, offset)
    end
    KAFKA::PartitionList.with(entries) do |list|
      administer(:DeleteRecords, :none, KAFKA::Functions.DeleteRecords_new(list))
    end
  end

  private

  def administer(function, results, object)
    handle = client.engine.instance_variable_get(:@producer).handle
    KAFKA::Request.new(handle, 30)
      .call(:delete, function, results, *KAFKA::Request.array([object])) { true }
  end
end
