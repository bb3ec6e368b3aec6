# frozen_string_literal: true

# godwit_req.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_req.c, with godwit.
require "godwit"
require_relative "common"

def round_trips(req, payload, stamps, count)
  index = 1
  while index <= count
    req.send(payload)
    req.recv
    stamps[index] = Common.now
    index += 1
  end
end

run = Common.run(ARGV)
payload = run.payload
req = Godwit::REQ.connect(run.endpoint)
round_trips(req, payload, [], run.warmup)
cpu = Common.cpu
stamps = Array.new(run.count + 1, Common.now)
round_trips(req, payload, stamps, run.count)
Common.say(program: "godwit_req", **Common.round_trips(stamps, Common.cpu - cpu))
req.close
