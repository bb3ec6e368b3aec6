# frozen_string_literal: true

require "work_helper"
require "support/librdkafka"

# A broker without transactions, which librdkafka's mock cluster imitates.
class WorkKafkaOldBrokersTest < Godwit::WorkCase
  Kafka = Godwit::Work.const_get(:Kafka)
  INIT_PRODUCER_ID = 22 # Kafka's number of the first request of a transactional producer
  NONE = -1 # as the least and the greatest version: the broker does not support the request

  Functions = Kafka::Functions
  Functions.load
  {
    handle_mock_cluster: [[:pointer], :pointer], mock_cluster_bootstraps: [[:pointer], :string],
    mock_set_apiversion: [%i[pointer int16 int16 int16], :int]
  }.each { |name, type| Functions.attach_function(name, "rd_kafka_#{name}", *type) }

  test "without transactions a runner ends at its start, and names the setting" do
    handle = own(Kafka::Handle.new(Kafka::Handle::PRODUCER, {"test.mock.num.brokers" => "1"}))
    cluster = Functions.handle_mock_cluster(handle.pointer)
    Functions.mock_set_apiversion(cluster, INIT_PRODUCER_ID, NONE, NONE)
    settings = Kafka::Settings.new("kafka://#{Functions.mock_cluster_bootstraps(cluster)}")
    client = own(Godwit::Work::Client.new(Godwit::Work.const_get(:KafkaEngine).new(settings)))
    klass = Class.new(Godwit::Work::Consumer) do
      topic "t"
      group "g"
      def perform(_) = nil
    end
    runner = Godwit::Work::Runner.new([klass], client: client)
    assert_refused(Godwit::UnsupportedError, -> { runner.run } => /transactions: false/)
  end
end
