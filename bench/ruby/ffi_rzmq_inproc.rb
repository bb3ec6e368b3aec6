# frozen_string_literal: true

# ffi_rzmq_inproc.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/inproc_thr.c, with ffi-rzmq and two
# Ruby threads.
require_relative "ffi_rzmq"

run = Common.run(ARGV)
context = ZMQ::Context.new
pull, = FFIRzmq.bind(context, ZMQ::PULL, run.endpoint)
sender = Thread.new do
  push = FFIRzmq.connect(context, ZMQ::PUSH, run.endpoint)
  FFIRzmq.push(push, run)
  push.close
end
Common.say(program: "ffi_rzmq_inproc", **FFIRzmq.pull(pull, run))
sender.join
pull.close
context.terminate
