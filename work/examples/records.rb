# frozen_string_literal: true

# Produces payments to the log that GODWIT_WORK_URL names, and counts what the consumer makes of
# them: ruby records.rb FOLDER COUNT WHAT. It prints "half" when half of them are paid. WHAT is what
# its caller does then.
require "godwit/work"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

folder, count, what = ARGV[0], Integer(ARGV[1]), ARGV[2]
since = Time.now
client = Godwit::Work.client
%w[payments paid payments.dead].each { |name| client.topic name }
paid = -> { client.each("paid", from: since).map(&:value) - ["poison"] }
$stdout.sync = true

client.produce("payments", "poison", key: "nobody")
sleep 0.02 until (letter = client.each("payments.dead", from: since).first)
puts "a poison record is a dead letter: #{letter.headers.to_h["godwit-error"]}"
File.write("#{folder}/mended", "")
client.requeue("payments.dead", letter.partition, letter.offset)
sleep 0.02 until client.each("paid", from: since).any? { |message| message.value == "poison" }
puts "requeued after the account was mended: it is paid"

start = now
(1..count).each_slice(1_000) do |numbers|
  client.produce_many("payments", numbers.map { |number| [number, "account #{number % 100}"] })
end
puts "#{(count / (now - start)).round} records/s produced, in calls of 1,000"
sleep 0.02 until paid.call.size > count / 2
puts "half"
sleep 0.02 until (found = paid.call).size >= count
puts "#{(count / (now - start)).round} records/s produced and paid, by key, with #{what} between"
puts "#{found.size} of #{count} paid, #{found.size - found.uniq.size} of them twice"
