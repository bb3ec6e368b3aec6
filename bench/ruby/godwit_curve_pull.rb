# frozen_string_literal: true

# godwit_curve_pull.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/curve_pull.c, with godwit.
require_relative "godwit_loops"
require_relative "curve_keys"

run = Common.run(ARGV)
pull = Godwit::PULL.bind(run.endpoint, curve: CurveKeys::SERVER)
Common.ready(pull.last_endpoint)
Common.say(program: "godwit_curve_pull", **GodwitLoops.pull(pull, run))
pull.close
