# frozen_string_literal: true

# godwit_rep.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_rep.c, with godwit.
require_relative "godwit_loops"

run = Common.run(ARGV)
rep = Godwit::REP.bind(run.endpoint)
Common.ready(rep.last_endpoint)
GodwitLoops.rep(rep, run)
Common.say(program: "godwit_rep")
rep.close
