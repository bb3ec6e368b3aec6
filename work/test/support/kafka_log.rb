# frozen_string_literal: true

require "support/broker"
require "support/librdkafka"

# The log of the tests if GODWIT_TEST_ENGINE is kafka: a broker that is emptied before each test.
module KafkaLog
  ON = ENV["GODWIT_TEST_ENGINE"] == "kafka"
  KEPT = /\A__/ # Kafka's own topics, which the tests do not delete
  REFUSED = "the tests delete all topics and groups of the brokers that KAFKA_BROKERS names: set " \
    "GODWIT_KAFKA_EMPTY=1 if no other program uses them"
  # "classic" or "consumer". With "consumer" (KIP-848) the brokers set the session time-out.
  PROTOCOL = ENV.fetch("GODWIT_TEST_GROUP_PROTOCOL", "classic")
  # @param session [Integer] the session time-out in ms
  def self.kafka(session)
    own = {"topic.metadata.refresh.interval.ms" => 200}
    (PROTOCOL == "classic") ? own.merge("session.timeout.ms" => session) : own
  end
  SETTINGS = {timeout: 30, group_protocol: PROTOCOL, kafka: kafka(6_000)}.freeze
  # Settings for children that a test kills: after 2 s other members get a child's partitions.
  SHORT = {group_protocol: PROTOCOL, kafka: kafka(2_000)}.freeze
  WAIT = 30 # most seconds of a cleaning: members that the last test killed must depart first

  class << self
    # @return [String] the URL of the brokers
    # @raise [Minitest::Skip] when there is no broker whose topics the tests may delete
    def url
      given = !ENV["KAFKA_BROKERS"].to_s.empty?
      raise Minitest::Skip, REFUSED if given && ENV["GODWIT_KAFKA_EMPTY"] != "1"
      "kafka://#{Broker.brokers}"
    end

    # @return [Object] a new engine on these brokers
    def open(**settings)
      Godwit::Work.const_get(:Connection).open(url, **SETTINGS.merge(settings))
    end

    # Deletes all topics and groups, also those that a killed test did not delete.
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
