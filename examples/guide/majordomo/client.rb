# frozen_string_literal: true

# Sends COUNT requests for a service to the Majordomo broker, and prints the replies.
#
#   ruby -Ilib examples/guide/majordomo/client.rb [ENDPOINT [SERVICE [COUNT [TIMEOUT [RETRIES]]]]]
require "godwit"
require_relative "mdp"

service = ARGV[1] || "square"
count = Integer(ARGV[2] || 20)
timeout = Float(ARGV[3] || 2.5)
retries = Integer(ARGV[4] || 3)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::REQ.connect(ARGV[0] || "tcp://127.0.0.1:5555", linger: 0) do |req|
  ask = lambda do |name, text|
    _, _, reply = req.request([MDP::CLIENT, name, text], timeout: timeout, retries: retries)
    reply
  end

  puts "is there a worker for #{service}? #{ask["mmi.service", service]}"
  count.times { |number| puts "#{service} of #{number} is #{ask[service, number.to_s]}" }
rescue Godwit::TimeoutError
  abort "no reply in #{retries + 1} times #{timeout} s: is there a broker, and a worker for " \
    "#{service}?"
end
