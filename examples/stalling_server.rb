# frozen_string_literal: true

# Echoes each message, and stops once for half a second, SECONDS (3) after the first message:
#   ruby -Ilib examples/stalling_server.rb [ENDPOINT [SECONDS]]
# `godwit perf load ENDPOINT --rate 2k --plot` shows the stall.
require "godwit"

rep = Godwit::REP.bind(ARGV.fetch(0, "tcp://127.0.0.1:5555"))
puts "ready at #{rep.last_endpoint}"
$stdout.flush

now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
stall_at = nil
rep.serve do |message|
  stall_at ||= now.call + ARGV.fetch(1, 3).to_f
  if now.call > stall_at
    stall_at = Float::INFINITY
    sleep 0.5
  end
  message
end
