# frozen_string_literal: true

# Answers the requests that the broker forwards.
#
#   ruby -Ilib examples/guide/request_reply/worker.rb [BACKEND]
require "godwit"

%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true
served = 0

Godwit::REP.connect(ARGV[0] || "tcp://127.0.0.1:5560", count_peers: true) do |rep|
  rep.wait_connected
  puts "ready"
  rep.serve do |name|
    served += 1
    "hello #{name}"
  end
ensure
  puts "served #{served} requests"
end
