# frozen_string_literal: true

# Gathers the results of a batch, then stops the workers.
#
#   ruby -Ilib examples/guide/pipeline/sink.rb [SINK [CONTROL [WORKERS]]]
require "godwit"

workers = Integer(ARGV[2] || 2)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

pull = Godwit::PULL.bind(ARGV[0] || "tcp://127.0.0.1:5558")
control = Godwit::PUB.bind(ARGV[1] || "tcp://127.0.0.1:5556")
puts "ready at #{pull.last_endpoint} for results, #{control.last_endpoint} for control"

expected = nil
results = {}
# The size of the batch and the results come from different peers, so in any order.
until results.size == expected
  kind, *rest = pull.recv
  if kind == "batch"
    expected = Integer(rest.first)
  else
    task, result = rest
    results[task] = Integer(result)
  end
end
puts "#{results.size} results, their sum is #{results.values.sum}"

control.wait_connected(count: workers) # a worker that has not subscribed yet would never hear of it
control << "stop"
[pull, control].each(&:close)
