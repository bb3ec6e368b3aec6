# frozen_string_literal: true

# Subscribes to one topic, prints the first COUNT values, and ends.
#
#   ruby -Ilib examples/guide/last_value_cache/subscriber.rb [BACKEND [TOPIC [COUNT]]]
require "godwit"

topic = ARGV[1] || rand(100).to_s
count = Integer(ARGV[2] || 1)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::SUB.connect(ARGV[0] || "tcp://127.0.0.1:5558", subscribe: "topic #{topic}.") do |sub|
  count.times { puts sub.recv.join(" ") }
end
