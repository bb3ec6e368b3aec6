# frozen_string_literal: true

require "support/kafka_failures"
require "support/coordinator_refusals"

# The brokers do not know at first which of them is the coordinator of a group.
class WorkKafkaCoordinatorTest < Godwit::KafkaFailureCase
  def proxy = @proxy ||= own(CoordinatorRefusals.new(BROKER))
  def broker = proxy.broker
  def url = "kafka://#{proxy.address}"

  test "a runner with outputs goes on when librdkafka has given up its search for a coordinator" do
    client.produce(from, {id: 1}, key: "a")
    consume_by(1)
    eventually("the commit", deadline: 60) do
      client.engine.positions(group, client.engine.topics.fetch(from)).sum(&:watermark) == 1
    end
    assert_equal CoordinatorRefusals::REFUSALS, proxy.refused
    stop_consuming
  end
end
