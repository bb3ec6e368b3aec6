# frozen_string_literal: true

# Sends COUNT requests, one after the other, and prints the replies.
#
#   ruby -Ilib examples/guide/load_balancing/client.rb [FRONTEND [COUNT [NAME]]]
require "godwit"

count = Integer(ARGV[1] || 10)
name = ARGV[2] || "client"
%w[INT TERM].each { |signal| trap(signal) { exit } }

Godwit::REQ.connect(ARGV[0] || "tcp://127.0.0.1:5672", linger: 0) do |req|
  count.times { |number| puts req.request("#{name} #{number}") }
end
