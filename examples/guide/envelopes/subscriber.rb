# frozen_string_literal: true

# Prints the weather of some cities. A topic is a prefix: because of its final dot "lagos." does not
# match "lagos-island.".
#
#   ruby -Ilib examples/guide/envelopes/subscriber.rb [ENDPOINT [TOPIC…]]
require "godwit"

endpoint, *topics = ARGV
topics = ["lagos."] if topics.empty?
%w[INT TERM].each { |signal| trap(signal) { exit } }

Godwit::SUB.connect(endpoint || "tcp://127.0.0.1:5563", subscribe: topics) do |sub|
  ended = 0
  until ended == topics.size
    topic, number, weather = sub.recv_multipart
    number ? puts("#{topic} #{number}: #{weather}") : ended += 1
  end
end
