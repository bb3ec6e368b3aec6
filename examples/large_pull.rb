# frozen_string_literal: true

# Receives COUNT messages from large_push.rb, as Strings or as frames, and reads the first bytes of
# each:
#
#   ruby -Ilib examples/large_pull.rb ENDPOINT COUNT strings|frames
require "godwit"

abort "usage: large_pull.rb ENDPOINT COUNT strings|frames" unless ARGV.size == 3
endpoint, count, how = ARGV[0], Integer(ARGV[1]), ARGV[2]
$stdout.sync = true

Godwit::PULL.bind(endpoint, recv_hwm: 4) do |pull|
  puts "ready at #{pull.last_endpoint}"
  strings = -> { pull.recv.bytesize }
  frames = -> { pull.recv_frame.then { |frame| frame.unpack1("C") && frame.size } }
  look = (how == "strings") ? strings : frames
  look.call # the clock starts when the first is here
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  bytes = Array.new(count - 1) { look.call }.sum
  seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
  peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1024
  puts "#{(bytes / seconds / 1e9).round(2)} GB/s, peak memory #{peak} MB"
end
