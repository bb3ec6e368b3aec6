# frozen_string_literal: true

# godwit_curve_push.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/curve_push.c, with godwit.
require_relative "godwit_loops"
require_relative "curve_keys"

run = Common.run(ARGV)
push = Godwit::PUSH.connect(run.endpoint, **CurveKeys.client)
Common.say(program: "godwit_curve_push", **GodwitLoops.push(push, run))
Common.hold
push.close
