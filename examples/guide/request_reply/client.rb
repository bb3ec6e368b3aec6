# frozen_string_literal: true

# Sends COUNT requests to the broker, one after the other, and prints the replies.
#
#   ruby -Ilib examples/guide/request_reply/client.rb [FRONTEND [COUNT [NAME]]]
require "godwit"

endpoint = ARGV[0] || "tcp://127.0.0.1:5559"
count = Integer(ARGV[1] || 10)
name = ARGV[2] || "client"
%w[INT TERM].each { |signal| trap(signal) { exit } }

Godwit::REQ.connect(endpoint, linger: 0) do |req|
  count.times { |number| puts req.request("#{name} #{number}") }
end
