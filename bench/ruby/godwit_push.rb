# frozen_string_literal: true

# godwit_push.rb ENDPOINT SIZE COUNT [WARMUP] [strings|batches]: as bench/c/thr_push.c, with godwit.
require_relative "godwit_loops"

run = Common.run(ARGV)
push = Godwit::PUSH.connect(run.endpoint)
Common.say(program: "godwit_push", **GodwitLoops.push(push, run))
Common.hold
push.close
