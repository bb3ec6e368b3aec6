# frozen_string_literal: true

# A REQ client, written for rbczmq: times 5,000 round trips to rep_server.rb.
#
#   ruby -rgodwit/compat/rbczmq req_client.rb [ENDPOINT]
require "zmq"
require "benchmark"

ROUND_TRIPS = 5_000

ctx = ZMQ::Context.new
req = ctx.socket(:REQ)
req.connect(ARGV[0] || "tcp://127.0.0.1:5555")

times = Benchmark.measure do
  ROUND_TRIPS.times do
    req.send("ping")
    abort "no answer" unless req.recv == "pong"
  end
end

puts Benchmark::CAPTION, times
req.send("stop")
req.recv
ctx.destroy
