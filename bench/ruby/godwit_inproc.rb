# frozen_string_literal: true

# godwit_inproc.rb ENDPOINT SIZE COUNT [WARMUP] [strings|batches]: as bench/c/inproc_thr.c, with
# godwit and two Ruby threads.
require_relative "godwit_loops"

run = Common.run(ARGV)
batches = Common.batches?(ARGV)
pull = Godwit::PULL.bind(run.endpoint)
sender =
  Thread.new { Godwit::PUSH.connect(run.endpoint) { |push| GodwitLoops.push(push, run, batches) } }
Common.say(program: "godwit_inproc", **GodwitLoops.pull(pull, run, batches))
sender.join
pull.close
