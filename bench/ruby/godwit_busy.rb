# frozen_string_literal: true

# godwit_busy.rb ENDPOINT SIZE SECONDS HWM [STAMP_PIPE] [batches]: as bench/c/busy_pull.c, with
# godwit beside a busy Ruby thread.
require "godwit"
require_relative "busy"

batches = ARGV.last == "batches" && ARGV.pop
run = Busy.run(ARGV)
pull = Godwit::PULL.bind(run.endpoint, recv_hwm: run.hwm)
Busy.thread
Common.ready(pull.last_endpoint)
if batches
  Busy.report("godwit_busy", run, ARGV[4]) { pull.recv_many(Common::BATCH) }
else
  Busy.report("godwit_busy", run, ARGV[4]) { [pull.recv] }
end
