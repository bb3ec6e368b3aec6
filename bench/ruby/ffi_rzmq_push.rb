# frozen_string_literal: true

# ffi_rzmq_push.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/thr_push.c, with ffi-rzmq.
require_relative "ffi_rzmq"

run = Common.run(ARGV)
context = ZMQ::Context.new
push = FFIRzmq.connect(context, ZMQ::PUSH, run.endpoint)
Common.say(program: "ffi_rzmq_push", **FFIRzmq.push(push, run))
Common.hold
push.close
context.terminate
