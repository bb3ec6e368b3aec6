# frozen_string_literal: true

# apart.rb LIBRARY push|pull|req|rep ENDPOINT SIZE COUNT [WARMUP]: one end, as bench/c/thr_push.c
# and the others, with a library that has no programs of its own for it. OMQ's end is in a reactor
# of Async: without it each message would cross two threads.
library, role, *arguments = ARGV
require_relative "#{library}_sides"

def run_side(role, run)
  serves = %w[pull rep].include?(role)
  socket = Sides.public_send(serves ? :bind : :connect, role.upcase.to_sym, run.endpoint)
  Common.ready(Sides.endpoint(socket)) if serves
  result = Sides.public_send(role, socket, run)
  Common.say(program: "apart", **(result.is_a?(Hash) ? result : {}))
  Common.hold if role == "push"
  Sides.close(socket)
end

run = Common.run(arguments)
(library == "omq") ? Sync { run_side(role, run) } : run_side(role, run)
