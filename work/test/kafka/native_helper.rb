# frozen_string_literal: true

require "work_helper"
require "support/broker"
require "support/librdkafka"

# Makes handles of librdkafka for the tests of the C extension, the module Native.
module NativeKafka
  Kafka = Godwit::Work.const_get(:Kafka)
  Functions = Kafka::Functions
  Native = Kafka::Native
  Failure = Kafka::Failure # autoloads the class before a test sets GC.stress

  # A producer's handle, its Deliveries, and its topics by name.
  Producer = Struct.new(:handle, :deliveries, :topics) do
    def topic(name) = topics[name] ||= Functions.topic_new(handle, name, nil)

    # @param blocks [Array<String>] blocks that Block.encode returned
    # @return [Kafka::Delivery]
    def produce(name, *blocks, partition: 0, seconds: 30)
      batches = blocks.map { |one| [topic(name).address, partition, one, one.unpack1("V")] }
      deliveries.produce(batches, seconds)
    end

    def close
      return unless handle
      topics.each_value { |one| Functions.topic_destroy(one) }
      Functions.destroy_flags(handle, 0)
      deliveries.release
      self.handle = nil
    end
  end

  # The handle of a consumer, and the queue of the partition that the consumer reads.
  Queue = Struct.new(:handle, :queue) do
    def drain(records = 100_000, bytes = 1 << 30) = Native.drain(queue.address, records, bytes)

    def close
      return unless handle
      Functions.queue_destroy(queue)
      Functions.destroy_flags(handle, 0)
      self.handle = nil
    end
  end

  def self.load
    Functions.load
    Native.open(Kafka::Library.find.path)
  end

  def setup
    super
    NativeKafka.load
    Broker.brokers
  end

  # @yieldparam conf [FFI::Pointer] the configuration, before the handle is made
  # @return [FFI::Pointer] a handle of librdkafka that logs nothing
  def handle(kind, properties, &before)
    own = {"bootstrap.servers" => Broker.brokers, "log_level" => "0"}
    Kafka::Handle.new(kind, own.merge(properties), &before).pointer
  end

  # @return [Producer] closed at the test's end
  def producer(properties = {})
    deliveries = Native::Deliveries.new
    properties = {"linger.ms" => 0, "acks" => "all", **properties}
    rk = handle(Kafka::Handle::PRODUCER, properties) { |conf| deliveries.attach(conf.address) }
    deliveries.bind(rk.address)
    own(Producer.new(rk, deliveries, {}))
  end

  # @return [Queue] closed at the test's end
  def queue(topic, offset: 0, partition: 0, **properties)
    properties = {
      "group.id": "g", "enable.auto.commit": false, "fetch.queue.backoff.ms": 2,
      "auto.offset.reset": "error"
    }.merge(properties)
    rk = handle(Kafka::Handle::CONSUMER, properties.transform_keys(&:to_s))
    Functions.poll_set_consumer(rk)
    list = Functions.topic_partition_list_new(1)
    place = Functions.topic_partition_list_add(list, topic, partition)
    Functions::Partition.new(place)[:offset] = offset
    # These calls come before the assignment: else the consumer's own queue gets the first records.
    queue = Functions.queue_get_partition(rk, topic, partition)
    Functions.queue_forward(queue, nil)
    failed = Functions.incremental_assign(rk, list)
    Functions.topic_partition_list_destroy(list)
    assert_predicate failed, :null?
    own(Queue.new(rk, queue))
  end

  # Drains the queue until at least `records` records have come from it.
  # @return [Array<Kafka::Block, Kafka::Failure>]
  def drained(queue, records, **limits)
    found = []
    eventually do
      found.concat(queue.drain(*limits.values))
      found.sum { |one| one.is_a?(Failure) ? 0 : one.count } >= records
    end
    found
  end

  def encode(...) = Kafka::Block.superclass.encode(...)
  def topic_name = "t-#{Process.pid}-#{name[/\w+/]}-#{object_id}"
  def bytes_of(block) = block.instance_variable_get(:@bytes)
end
