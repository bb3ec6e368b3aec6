# frozen_string_literal: true

# ffi_rzmq_rep.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_rep.c, with ffi-rzmq.
require_relative "ffi_rzmq"

run = Common.run(ARGV)
context = ZMQ::Context.new
rep, endpoint = FFIRzmq.bind(context, ZMQ::REP, run.endpoint)
Common.ready(endpoint)
FFIRzmq.rep(rep, run)
Common.say(program: "ffi_rzmq_rep")
rep.close
context.terminate
