# frozen_string_literal: true

# Receives tasks from the ventilator, sends results to the sink, and ends when the sink tells it to.
#
#   ruby -Ilib examples/guide/pipeline/worker.rb [TASKS [SINK [CONTROL]]]
require "godwit"

tasks = Godwit::PULL.connect(ARGV[0] || "tcp://127.0.0.1:5557")
results = Godwit::PUSH.connect(ARGV[1] || "tcp://127.0.0.1:5558")
control = Godwit::SUB.connect(ARGV[2] || "tcp://127.0.0.1:5556", subscribe: "stop")
$stdout.sync = true
done = 0

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }

  loop.readable(tasks) do
    task = tasks.recv
    results << ["result", task, (Integer(task)**2).to_s]
    done += 1
  end

  loop.readable(control) { loop.stop }
  puts "ready"
end
puts "did #{done} tasks"
[tasks, results, control].each(&:close)
