# frozen_string_literal: true

# Distributes COUNT tasks among the workers. It begins when all are connected; otherwise the first
# worker would get most of the tasks.
#
#   ruby -Ilib examples/guide/pipeline/ventilator.rb [TASKS [SINK [COUNT [WORKERS]]]]
#
# Start sink.rb, the workers (worker.rb) and this program in any order.
require "godwit"

tasks = ARGV[0] || "tcp://127.0.0.1:5557"
sink = ARGV[1] || "tcp://127.0.0.1:5558"
count = Integer(ARGV[2] || 100)
workers = Integer(ARGV[3] || 2)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::PUSH.bind(tasks) do |push|
  puts "ready at #{push.last_endpoint}"
  Godwit::PUSH.connect(sink) do |to_sink|
    to_sink.wait_connected # without a connection the message would be dropped after linger
    to_sink << ["batch", count.to_s]
  end

  push.wait_connected(count: workers)
  count.times { |number| push << number.to_s }
  puts "sent #{count} tasks"
end
