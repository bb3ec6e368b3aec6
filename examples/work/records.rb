# frozen_string_literal: true

# Produces payments, lets a consumer process be killed, and counts: ruby records.rb FILE COUNT. It
# prints "half" when half of them are paid.
require "godwit/work"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def counts(client) = client.each("paid").map(&:value)

file, count = ARGV[0], Integer(ARGV[1])
client = Godwit::Work.connect "sqlite:#{file}"
%w[payments paid].each { |name| client.topic name }
$stdout.sync = true

start = now
(1..count).each_slice(1_000) do |numbers|
  client.produce_many("payments", numbers.map { |number| [number, "account #{number % 100}"] })
end
puts "#{(count / (now - start)).round} records/s produced, in calls of 1,000"
paid = -> { client.topics.empty? ? 0 : client.each("paid", from: :earliest).count }
sleep 0.02 until paid.call > count / 2
puts "half"
sleep 0.02 until paid.call >= count
puts "#{(count / (now - start)).round} records/s produced and paid, by key, with the kill of a process between"
values = counts(client)
puts "#{values.size} of #{count} paid, #{values.size - values.uniq.size} of them twice"

client.produce("payments", "poison", key: "nobody")
sleep 0.02 until client.topics.any? { |topic| topic.name == "payments.dead" } && client.each("payments.dead").any?
letter = client.each("payments.dead").first
puts "a poison record is a dead letter: #{letter.headers.to_h["godwit-error"]}"
File.write("#{file}.mended", "")
client.requeue("payments.dead", letter.partition, letter.offset)
sleep 0.02 until counts(client).include?("poison")
puts "requeued after the account was mended: it is paid"
