# frozen_string_literal: true

# Serves lazy pirate clients with workers that may die. A request goes to the worker that has been
# idle longest, and to the next one if that worker is gone. If a worker dies with a request, the
# client repeats the request.
#
#   ruby -Ilib examples/guide/simple_pirate/queue.rb [FRONTEND [BACKEND]]
#
# The clients are lazy_pirate/client.rb.
require "godwit"

frontend = Godwit::ROUTER.bind(ARGV[0] || "tcp://127.0.0.1:5555")
# It raises where a worker is gone.
backend = Godwit::ROUTER.bind(ARGV[1] || "tcp://127.0.0.1:5556", mandatory: true)
$stdout.sync = true
puts "ready at #{frontend.last_endpoint} for clients, #{backend.last_endpoint} for workers"
free = []

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }

  hand_over = lambda do |_|
    request = frontend.recv # [client, "", number]
    begin
      worker = free.shift
      backend << [worker, "", *request] if worker # without one: the client will ask again
    rescue Godwit::UnreachableError
      retry
    end
    loop.remove(frontend) if free.empty?
  end

  loop.readable(backend) do
    worker, _, *reply = backend.recv # ["READY"] or [client, "", result]
    loop.readable(frontend, &hand_over) if free.empty?
    free << worker
    frontend << reply unless reply == ["READY"]
  end
end
[frontend, backend].each(&:close)
