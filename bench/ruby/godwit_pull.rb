# frozen_string_literal: true

# godwit_pull.rb ENDPOINT SIZE COUNT [WARMUP] [strings|batches]: as bench/c/thr_pull.c, with godwit.
require_relative "godwit_loops"

run = Common.run(ARGV)
pull = Godwit::PULL.bind(run.endpoint)
Common.ready(pull.last_endpoint)
Common.say(program: "godwit_pull", **GodwitLoops.pull(pull, run))
pull.close
