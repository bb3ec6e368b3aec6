# frozen_string_literal: true

require "ffi"

# Requests to a broker that Work does not send.
module KafkaAdministration
  # The functions for them.
  module Native
    extend ::FFI::Library

    ffi_lib ENV.fetch("GODWIT_LIBRDKAFKA")
    attach_function :rd_kafka_DeleteTopic_new, %i[string], :pointer
    attach_function :rd_kafka_DeleteTopics, %i[pointer pointer size_t pointer pointer], :void
    attach_function :rd_kafka_DeleteRecords_new, %i[pointer], :pointer
    attach_function :rd_kafka_DeleteRecords, %i[pointer pointer size_t pointer pointer], :void
  end

  KAFKA = Godwit::Work.const_get(:Kafka)

  def delete_topic(name)
    administer(:rd_kafka_DeleteTopics, Native.rd_kafka_DeleteTopic_new(name))
    eventually("the end of the topic") { !client.engine.topics.key?(name) }
  end

  # @param offsets [Hash{Integer => Integer}] by partition: the log's new starts
  def delete_records(topic, offsets)
    entries = offsets.map do |number, offset|
      KAFKA::PartitionList::Entry.new(topic, number, offset)
    end
    KAFKA::PartitionList.with(entries) do |list|
      administer(:rd_kafka_DeleteRecords, Native.rd_kafka_DeleteRecords_new(list))
    end
  end

  private

  def administer(function, object)
    handle = client.engine.instance_variable_get(:@producer).handle
    KAFKA::Request.new(handle, 30).call(function, ->(_event) { true }) do |native, options, queue|
      array = KAFKA::Request.array([object])
      Native.public_send(function, native, array, 1, options, queue)
    end
  end
end
