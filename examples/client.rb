# frozen_string_literal: true

# Times 5,000 round trips to server.rb:
#
#   ruby -Ilib examples/client.rb [ENDPOINT]
require "benchmark"
require "godwit"

ROUND_TRIPS = 5_000

req = Godwit::REQ.connect(ARGV[0] || "tcp://127.0.0.1:5555")

times = Benchmark.measure do
  ROUND_TRIPS.times do
    req.send "request"
    req.recv
  end
end

puts "      user     system      total        real", times
puts "#{(ROUND_TRIPS / times.real).round} round trips per second"
