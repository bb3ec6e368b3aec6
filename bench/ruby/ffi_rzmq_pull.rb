# frozen_string_literal: true

# ffi_rzmq_pull.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/thr_pull.c, with ffi-rzmq.
require_relative "ffi_rzmq"

run = Common.run(ARGV)
context = ZMQ::Context.new
pull, endpoint = FFIRzmq.bind(context, ZMQ::PULL, run.endpoint)
Common.ready(endpoint)
Common.say(program: "ffi_rzmq_pull", **FFIRzmq.pull(pull, run))
pull.close
context.terminate
