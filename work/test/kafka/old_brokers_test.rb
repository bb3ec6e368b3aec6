# frozen_string_literal: true

require "work_helper"
require "support/librdkafka"
require "ffi"

# Brokers without transactions: librdkafka's mock cluster stands in for them.
class WorkKafkaOldBrokersTest < Godwit::WorkCase
  Kafka = Godwit::Work.const_get(:Kafka)
  INIT_PRODUCER_ID = 22 # a kind of request
  NONE = -1 # versions of it

  # librdkafka's functions for its mock cluster.
  module Mock
    extend FFI::Library

    ffi_lib ENV.fetch("GODWIT_LIBRDKAFKA")
    attach_function :rd_kafka_handle_mock_cluster, [:pointer], :pointer
    attach_function :rd_kafka_mock_cluster_bootstraps, [:pointer], :string
    attach_function :rd_kafka_mock_set_apiversion, %i[pointer int16 int16 int16], :int
  end

  def setup
    super
    @handle = Kafka::Handle.new(Kafka::Handle::PRODUCER, {"test.mock.num.brokers" => "1"})
    @cluster = Mock.rd_kafka_handle_mock_cluster(@handle.pointer)
  end

  def teardown
    super
    @handle.close
  end

  def runner(**options)
    settings = Kafka::Settings.new("kafka://#{Mock.rd_kafka_mock_cluster_bootstraps(@cluster)}",
      **options)
    client = own(Godwit::Work::Client.new(Godwit::Work.const_get(:KafkaEngine).new(settings)))
    klass = Class.new(Godwit::Work::Consumer) do
      topic "t"
      group "g"
      def perform(_) = nil
    end
    Godwit::Work::Runner.new([klass], client: client)
  end

  test "without transactions a runner ends at its start, and names the setting" do
    Mock.rd_kafka_mock_set_apiversion(@cluster, INIT_PRODUCER_ID, NONE, NONE)
    error = assert_raises(Godwit::UnsupportedError) { runner.run }
    assert_match(/transactions: false/, error.message)
  end
end
