# frozen_string_literal: true

# karafka_produce.rb ADDRESS COUNT raw|json: writes COUNT records to a topic of one partition, and
# 1,000 more, so that Karafka does not wait for a full last batch.
require_relative "work_common"
require "karafka"

topic = "bench-#{ARGV[2]}"
count = Integer(ARGV[1]) + 1_000
settings = {"bootstrap.servers": ARGV[0], "allow.auto.create.topics": true,
            "queue.buffering.max.messages": count + 1}
producer = Rdkafka::Config.new(settings).producer
values = WorkCommon.values(ARGV[2])
last = nil
count.times do |index|
  last = producer.produce(topic: topic, partition: 0, payload: values[index % 1_000])
end
last.wait(max_wait_timeout: 60)
producer.flush(60_000)
Common.say(sent: count)
producer.close
