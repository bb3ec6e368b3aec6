# frozen_string_literal: true

require "support/broker"
require "support/librdkafka"

# The log of the tests when GODWIT_TEST_ENGINE is kafka: one broker, which each test finds empty.
module KafkaLog
  ON = ENV["GODWIT_TEST_ENGINE"] == "kafka"
  KEPT = /\A__/ # Kafka's own topics
  REFUSED = "the tests delete all topics and groups of the brokers that KAFKA_BROKERS names: set " \
    "GODWIT_KAFKA_EMPTY=1 if no other program uses them"
  # With the protocol of KIP-848 the brokers decide how long a session is.
  PROTOCOL = ENV.fetch("GODWIT_TEST_GROUP_PROTOCOL", "classic")
  # @param session [Integer] ms
  def self.kafka(session)
    own = {"topic.metadata.refresh.interval.ms" => 200}
    (PROTOCOL == "classic") ? own.merge("session.timeout.ms" => session) : own
  end
  SETTINGS = {timeout: 30, group_protocol: PROTOCOL, kafka: kafka(6_000)}.freeze
  # Settings for children that a test kills: others get their partitions after this short session.
  SHORT = {group_protocol: PROTOCOL, kafka: kafka(2_000)}.freeze
  WAIT = 30 # seconds until killed members of the test before have departed

  class << self
    # @return [String]
    # @raise [Minitest::Skip] when there is no broker that may be emptied
    def url
      given = !ENV["KAFKA_BROKERS"].to_s.empty?
      raise Minitest::Skip, REFUSED if given && ENV["GODWIT_KAFKA_EMPTY"] != "1"
      "kafka://#{Broker.brokers}"
    end

    # @return [Object] a new engine
    def open(**settings)
      Godwit::Work.const_get(:Connection).open(url, **SETTINGS.merge(settings))
    end

    # Deletes all topics and groups, also those of a test that was killed.
    def clean = native.clean

    # Waits until readers get all committed records.
    def await_transactions = native.await_transactions

    private

    def native
      @native ||= begin
        require "support/kafka_cleaner"
        KafkaCleaner.new(url).tap { |one| Minitest.after_run { one.close } }
      end
    end
  end
end
