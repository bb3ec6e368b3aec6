# frozen_string_literal: true

require "support/broker"
require "support/librdkafka"

# The log of the tests when GODWIT_TEST_ENGINE is kafka: one broker, which each test finds empty.
module KafkaLog
  ON = ENV["GODWIT_TEST_ENGINE"] == "kafka"
  # Work does not list its own topics. The cluster of this one is the tests', and may be emptied.
  MARK = "_godwit.tests"
  KEPT = /\A(__|#{Regexp.escape(MARK)}\z)/
  SETTINGS = {
    timeout: 30,
    kafka: {"session.timeout.ms" => 6_000, "topic.metadata.refresh.interval.ms" => 200}
  }.freeze
  WAIT = 30 # seconds for members of the last test, which a kill has ended

  class << self
    # @return [String]
    def url = "kafka://#{Broker.brokers}"

    # @return [Object] a new engine
    def open(**settings)
      Godwit::Work.const_get(:Connection).open(url, **SETTINGS.merge(settings))
    end

    # Deletes all topics and groups, also those of a test that was killed.
    def clean
      native.clean
    end

    private

    def native
      @native ||= begin
        require "support/kafka_cleaner"
        KafkaCleaner.new(url).tap { |one| Minitest.after_run { one.close } }
      end
    end
  end
end
