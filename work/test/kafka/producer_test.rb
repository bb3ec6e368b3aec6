# frozen_string_literal: true

require "log/engines"

# A client writes records without a consumer group.
class WorkKafkaProducerTest < Godwit::WorkCase
  include Engines

  Functions = Godwit::Work.const_get(:Kafka)::Functions.tap(&:load)
  Functions.attach_function(:test_fatal_error, "rd_kafka_test_fatal_error",
    %i[pointer int string], :int)
  NO_RIGHT = 31 # librdkafka's code CLUSTER_AUTHORIZATION_FAILED
  OUT_OF_ORDER = 45 # OUT_OF_ORDER_SEQUENCE_NUMBER: the broker has lost acknowledged records

  def client
    @client ||= begin
      KafkaLog.clean
      Godwit::Work::Client.new(own(KafkaLog.open(**KafkaLog::SHORT)))
    end
  end

  def end_producer(code)
    pointer = client.engine.instance_variable_get(:@writer).handle.pointer
    Functions.test_fatal_error(pointer, code, "a test's")
  end

  test "after a fatal error of its producer, a client writes on with another one" do
    topic = "fatal"
    client.topic(topic, format: :raw, partitions: 1)
    client.produce(topic, "0")
    2.times do |round|
      end_producer(OUT_OF_ORDER)
      error = assert_raises(Godwit::Work::BrokerError) { client.produce(topic, "lost") }
      assert_predicate error, :fatal?
      client.produce(topic, (round + 1).to_s)
    end
    assert_equal %w[0 1 2], client.each(topic).map(&:value)
    assert_includes client.engine.topics.keys, topic # `topics` uses the first producer's handle
  end

  test "reports are released after the end of the handle, also when two threads close it" do
    one = client.engine.instance_variable_get(:@writer)
    deliveries = one.instance_variable_get(:@deliveries)
    destroy, release = Functions.method(:destroy_flags), deliveries.method(:release)
    order, begun, go = [], Thread::Queue.new, Thread::Queue.new
    slowly = lambda do |*arguments|
      begun << true
      go.pop
      destroy.call(*arguments)
      order << :destroyed
    end
    Functions.stub(:destroy_flags, slowly) do
      deliveries.stub(:release, -> { release.call.tap { order << :released } }) do
        first = in_thread { one.close }
        begun.pop
        second = in_thread { one.close }
        eventually { second.stop? }
        go << true
        [first, second].each { |thread| ended(thread) }
      end
    end
    assert_equal %i[destroyed released], order
  end

  test "of a missing right an idempotent producer says which one, and writes once it is given" do
    client.topic("secret", format: :raw, partitions: 1)
    end_producer(NO_RIGHT)
    error = assert_raises(Godwit::Work::AccessError) { client.produce("secret", "lost") }
    assert_match(/\Aproduce secret: .*CLUSTER_AUTHORIZATION_FAILED.*this right/, error.message)
    client.produce("secret", "written")
    assert_equal ["written"], client.each("secret").map(&:value)
  end

  test "a topic of another program needs a format" do
    cluster = client.engine.cluster
    topic = "foreign"
    cluster.create(topic, 1, 1, {})
    error = nil
    eventually do
      error = assert_raises(Godwit::Work::TopicError) { client.produce(topic, "x") }
      error.message.include?("format")
    end
    assert_match(/another program's, without a format: declare it .*format: :raw/, error.message)
    client.topic(topic, format: :raw)
    client.produce(topic, "x")
    assert_equal ["x"], client.each(topic).map(&:value)
  end
end
