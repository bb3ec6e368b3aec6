# frozen_string_literal: true

# Receives COUNT messages from push.rb, up to BATCH at a time, and prints their rate:
#
#   ruby -Ilib examples/pull.rb ENDPOINT COUNT [BATCH]
require "godwit"

abort "usage: pull.rb ENDPOINT COUNT [BATCH]" unless ARGV.size.between?(2, 3)
endpoint, count, batch = ARGV[0], *ARGV[1..].map { |number| Integer(number) }
$stdout.sync = true

Godwit::PULL.bind(endpoint) do |pull|
  puts "ready at #{pull.last_endpoint}"
  size = pull.recv.bytesize # the clock starts when the first is here
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  left = count - 1
  if batch
    left -= pull.recv_many(batch).size while left > 0
  else
    left.times { pull.recv }
  end
  seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
  puts "#{((count - 1) / seconds).round} messages/s of #{size} bytes"
end
