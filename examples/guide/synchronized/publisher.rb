# frozen_string_literal: true

# Waits until SUBSCRIBERS have subscribed, then publishes COUNT messages. Each subscriber gets every
# message.
#
#   ruby -Ilib examples/guide/synchronized/publisher.rb [ENDPOINT [SUBSCRIBERS [COUNT]]]
require "godwit"

endpoint = ARGV[0] || "tcp://127.0.0.1:5561"
subscribers = Integer(ARGV[1] || 3)
count = Integer(ARGV[2] || 100_000)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

# No limit here or at the subscribers: a PUB drops messages to a subscriber whose queue is full.
Godwit::PUB.bind(endpoint, send_hwm: 0) do |pub|
  puts "ready at #{pub.last_endpoint}"
  # The PUB counts the received subscriptions, so no second pair of sockets is needed.
  pub.wait_connected(count: subscribers)

  Array.new(count, &:to_s).each_slice(1000) { |messages| pub.send_many(messages) }
  pub << "end"
  puts "published #{count} messages to #{subscribers} subscribers"
end
