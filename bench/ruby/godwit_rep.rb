# frozen_string_literal: true

# godwit_rep.rb ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_rep.c, with godwit.
require "godwit"
require_relative "common"

run = Common.run(ARGV)
rep = Godwit::REP.bind(run.endpoint)
Common.ready(rep.last_endpoint)
request = nil
left = run.total
while left > 0
  request = rep.recv
  rep.send(request)
  left -= 1
end
Common.check_size(request, run.size)
Common.say(program: "godwit_rep")
rep.close
