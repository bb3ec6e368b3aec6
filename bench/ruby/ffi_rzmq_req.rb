# frozen_string_literal: true

# ffi_rzmq_req.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_req.c, with ffi-rzmq.
require_relative "ffi_rzmq"

def round_trips(req, payload, buffer, stamps, count)
  index = 1
  while index <= count
    FFIRzmq.check req.send_string(payload)
    FFIRzmq.check req.recv_string(buffer)
    stamps[index] = Common.now
    index += 1
  end
end

run = Common.run(ARGV)
payload = run.payload
buffer = +""
context = ZMQ::Context.new
req = FFIRzmq.connect(context, ZMQ::REQ, run.endpoint)
round_trips(req, payload, buffer, [], run.warmup)
cpu = Common.cpu
stamps = Array.new(run.count + 1, Common.now)
round_trips(req, payload, buffer, stamps, run.count)
Common.say(program: "ffi_rzmq_req", **Common.round_trips(stamps, Common.cpu - cpu))
req.close
context.terminate
