# frozen_string_literal: true

# rbczmq_pull.rb ENDPOINT SIZE COUNT [WARMUP]: as godwit_pull.rb, through rbczmq's layer.
require "zmq"
require_relative "godwit_loops"

run = Common.run(ARGV)
context = ZMQ::Context.new
pull = context.bind(:PULL, run.endpoint)
Common.ready(pull.last_endpoint)
Common.say(program: "rbczmq_pull", **GodwitLoops.pull(pull, run))
context.destroy
