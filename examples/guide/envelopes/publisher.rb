# frozen_string_literal: true

# Publishes the weather of three cities, each message in an envelope: the first frame is the topic,
# by which subscribers filter.
#
#   ruby -Ilib examples/guide/envelopes/publisher.rb [ENDPOINT [COUNT [SUBSCRIPTIONS]]]
require "godwit"

endpoint = ARGV[0] || "tcp://127.0.0.1:5563"
count = Integer(ARGV[1] || 10)
subscriptions = Integer(ARGV[2] || 1)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::PUB.bind(endpoint) do |pub|
  puts "ready at #{pub.last_endpoint}"
  pub.wait_connected(count: subscriptions) # a PUB counts subscriptions, and drops earlier messages

  count.times do |number|
    %w[lagos. lagos-island. quito.].each do |city|
      pub << [city, number.to_s, "#{20 + number % 10} degrees"]
    end
  end
  pub << ["lagos."] << ["lagos-island."] << ["quito."] # an envelope with nothing in it: the end
end
