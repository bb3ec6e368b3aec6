# frozen_string_literal: true

# Publishes COUNT values for each of TOPICS topics, once, and ends. Later subscribers depend on the
# cache.
#
#   ruby -Ilib examples/guide/last_value_cache/publisher.rb [FRONTEND [TOPICS [COUNT]]]
require "godwit"

endpoint = ARGV[0] || "tcp://127.0.0.1:5557"
topics = Integer(ARGV[1] || 100)
count = Integer(ARGV[2] || 3)
%w[INT TERM].each { |signal| trap(signal) { exit } }

Godwit::PUB.connect(endpoint, send_hwm: 0) do |pub|
  pub.wait_connected
  1.upto(count) do |number|
    topics.times { |topic| pub << ["topic #{topic}.", "value #{number}"] }
  end
end
puts "published #{count} values for each of #{topics} topics"
