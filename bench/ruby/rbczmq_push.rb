# frozen_string_literal: true

# rbczmq_push.rb ENDPOINT SIZE COUNT [WARMUP]: as godwit_push.rb, through rbczmq's layer.
require "zmq"
require_relative "godwit_loops"

run = Common.run(ARGV)
context = ZMQ::Context.new
push = context.connect(:PUSH, run.endpoint)
Common.say(program: "rbczmq_push", **GodwitLoops.push(push, run))
Common.hold
context.destroy
