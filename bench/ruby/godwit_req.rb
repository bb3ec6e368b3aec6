# frozen_string_literal: true

# godwit_req.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_req.c, with godwit.
require_relative "godwit_loops"

run = Common.run(ARGV)
req = Godwit::REQ.connect(run.endpoint)
Common.say(program: "godwit_req", **GodwitLoops.req(req, run))
req.close
