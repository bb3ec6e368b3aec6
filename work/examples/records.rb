# frozen_string_literal: true

# Produces payments, lets a consumer process be killed, and counts: ruby records.rb FILE COUNT. It
# prints "half" when half of them are paid.
require "godwit/work"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def values(client) = client.each("paid").map(&:value)

file, count = ARGV[0], Integer(ARGV[1])
client = Godwit::Work.connect "sqlite:#{file}"
%w[payments paid].each { |name| client.topic name }
$stdout.sync = true

start = now
(1..count).each_slice(1_000) do |numbers|
  client.produce_many("payments", numbers.map { |number| [number, "account #{number % 100}"] })
end
puts "#{(count / (now - start)).round} records/s produced, in calls of 1,000"
paid = -> { client.each("paid").count }
sleep 0.02 until paid.call > count / 2
puts "half"
sleep 0.02 until paid.call >= count
puts "#{(count / (now - start)).round} records/s produced and paid, by key, with the kill of a " \
  "process between"
found = values(client)
puts "#{found.size} of #{count} paid, #{found.size - found.uniq.size} of them twice"

client.produce("payments", "poison", key: "nobody")
dead = lambda do
  client.each("payments.dead").first if client.topics.any? { |topic| topic.name == "payments.dead" }
end
sleep 0.02 until dead.call
letter = dead.call
puts "a poison record is a dead letter: #{letter.headers.to_h["godwit-error"]}"
File.write("#{file}.mended", "")
client.requeue("payments.dead", letter.partition, letter.offset)
sleep 0.02 until values(client).include?("poison")
puts "requeued after the account was mended: it is paid"
