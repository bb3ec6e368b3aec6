# frozen_string_literal: true

# waterdrop_produce.rb ADDRESS COUNT TOPIC: writes COUNT records with WaterDrop, 1,000 a call.
require_relative "work_common"
require "waterdrop"

producer = WaterDrop::Producer.new do |config|
  config.kafka = {"bootstrap.servers": ARGV[0]}
  config.logger = Logger.new($stderr, level: Logger::WARN)
end
messages = WorkCommon.values("raw").map { |value| {topic: ARGV[2], payload: value} }
calls = Integer(ARGV[1]) / messages.size
producer.produce_many_sync(messages)
Common.say(
  Common.measure do
    calls.times { producer.produce_many_sync(messages) }
    calls * messages.size
  end
)
producer.close
