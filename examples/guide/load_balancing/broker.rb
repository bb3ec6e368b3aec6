# frozen_string_literal: true

# Sends each request to the worker that has been idle longest. A worker tells when it is idle, so a
# slow worker delays no other request. While no worker is idle, requests wait in libzmq's queue.
#
#   ruby -Ilib examples/guide/load_balancing/broker.rb [FRONTEND [BACKEND]]
require "godwit"

frontend = Godwit::ROUTER.bind(ARGV[0] || "tcp://127.0.0.1:5672")
backend = Godwit::ROUTER.bind(ARGV[1] || "tcp://127.0.0.1:5673")
$stdout.sync = true
puts "ready at #{frontend.last_endpoint} for clients, #{backend.last_endpoint} for workers"
free = []
replies = 0

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }

  hand_over = lambda do |_|
    request = frontend.recv # [client, "", text]
    backend << [free.shift, "", *request]
    loop.remove(frontend) if free.empty?
  end

  loop.readable(backend) do
    worker, _, *reply = backend.recv # ["READY"] or [client, "", text]
    loop.readable(frontend, &hand_over) if free.empty?
    free << worker
    next if reply == ["READY"]
    frontend << reply
    replies += 1
  end
end
puts "#{replies} replies"
[frontend, backend].each(&:close)
