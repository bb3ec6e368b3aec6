# frozen_string_literal: true

# work_produce.rb PLACE many|keys|one|threads COUNT raw|json [PARTITIONS [TOPIC]]: writes COUNT
# records with Godwit; COUNT 0 makes the topic alone.
#   many, keys: 1,000 a call; one: one a call; threads: one a call from 16 threads
require_relative "work_common"
require "godwit/work"

path, how, count, format, partitions = ARGV[0], ARGV[1], Integer(ARGV[2]), ARGV[3], ARGV[4]
topic = ARGV[5] || "bench"
client = Godwit::Work.connect(WorkCommon.url(path))
client.topic(topic, format: format.to_sym, partitions: partitions&.to_i)
if count.zero?
  Common.say(sent: 0)
  exit
end
values = (format == "json") ? Array.new(1_000) { |one| WorkCommon.object(one) } :
  WorkCommon.values(format)
records = (how == "keys") ? values.zip(WorkCommon.keys) : values.zip

write = lambda do |number|
  case how
  when "many", "keys" then (number / 1_000).times { client.produce_many(topic, records) }
  when "one" then number.times { |index| client.produce(topic, values[index % 1_000]) }
  when "threads"
    Array.new(WorkCommon::WORKERS) do
      Thread.new do
        (number / WorkCommon::WORKERS).times do |index|
          client.produce(topic, values[index % 1_000])
        end
      end
    end.each(&:join)
  end
  number
end
write.call([count / 10, 1_000].min)
Common.say(Common.measure { write.call(count) })
