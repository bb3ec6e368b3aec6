# frozen_string_literal: true

# Waits until SUBSCRIBERS have subscribed, then publishes COUNT messages: all of them get all of it.
#
#   ruby -Ilib examples/guide/synchronized/publisher.rb [ENDPOINT [SUBSCRIBERS [COUNT]]]
require "godwit"

endpoint = ARGV[0] || "tcp://127.0.0.1:5561"
subscribers = Integer(ARGV[1] || 3)
count = Integer(ARGV[2] || 100_000)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

# No limit here, and none at the subscribers: a PUB drops what it sends to one whose queue is full.
Godwit::PUB.bind(endpoint, send_hwm: 0) do |pub|
  puts "ready at #{pub.last_endpoint}"
  # It counts the subscriptions that have reached it, so it needs no second pair of sockets for "I am here".
  pub.wait_connected(count: subscribers)

  Array.new(count, &:to_s).each_slice(1000) { |messages| pub.send_many(messages) }
  pub << "end"
  puts "published #{count} messages to #{subscribers} subscribers"
end
