# frozen_string_literal: true

# Times each round trip to server.rb:
#
#   ruby -Ilib examples/round_trips.rb [ENDPOINT] [COUNT]
require "godwit"

endpoint = ARGV[0] || "tcp://127.0.0.1:5555"
count = Integer(ARGV[1] || 10_000)

Godwit::REQ.connect(endpoint) do |req|
  now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond) }
  req.request("the first finds the way", timeout: 5)

  times = Array.new(count) do
    start = now.call
    req.send("request").recv
    now.call - start
  end.sort

  puts format("%d round trips/s, p50 %.0f us, p99 %.0f us", count * 1e6 / times.sum,
    times[count / 2], times[count * 99 / 100])
end
