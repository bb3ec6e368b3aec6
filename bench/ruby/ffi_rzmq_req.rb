# frozen_string_literal: true

# ffi_rzmq_req.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_req.c, with ffi-rzmq.
require_relative "ffi_rzmq"

run = Common.run(ARGV)
context = ZMQ::Context.new
req = FFIRzmq.connect(context, ZMQ::REQ, run.endpoint)
Common.say(program: "ffi_rzmq_req", **FFIRzmq.req(req, run))
req.close
context.terminate
