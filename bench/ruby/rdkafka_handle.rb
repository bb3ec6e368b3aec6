# frozen_string_literal: true

# rdkafka_handle.rb ADDRESS COUNT GROUP TOPIC: consumes COUNT records with karafka-rdkafka's poll,
# then ends. The settings are librdkafka's, apart from where it begins.
require_relative "work_common"
require "rdkafka"

address, count, group, topic = ARGV[0], Integer(ARGV[1]), ARGV[2], ARGV[3]
tally = WorkCommon::Tally.new(count) { exit!(0) }
settings = {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"}
consumer = Rdkafka::Config.new(settings).consumer
consumer.subscribe(topic)
loop { consumer.poll(1_000)&.then { |message| tally.touch(message.payload) } }
