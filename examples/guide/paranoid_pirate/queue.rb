# frozen_string_literal: true

# A simple pirate's queue that also detects workers that hang or have lost their network: both sides
# send heartbeats (RFC 6/PPP). A worker that is silent for three intervals gets no further requests.
#
#   ruby -Ilib examples/guide/paranoid_pirate/queue.rb [FRONTEND [BACKEND [HEARTBEAT]]]
#
# The clients are lazy_pirate/client.rb. HEARTBEAT is in seconds, and the same as the workers'.
require "godwit"

READY, ALIVE = "\x01", "\x02"
PATIENCE = 3 # heartbeats

frontend = Godwit::ROUTER.bind(ARGV[0] || "tcp://127.0.0.1:5555")
backend = Godwit::ROUTER.bind(ARGV[1] || "tcp://127.0.0.1:5556", mandatory: true)
heartbeat = Float(ARGV[2] || 1)
$stdout.sync = true
puts "ready at #{frontend.last_endpoint} for clients, #{backend.last_endpoint} for workers"
# A worker's address => the timer that drops it, the one that has been free for longest first.
free = {}

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }

  drop = lambda do |worker|
    free.delete(worker).cancel
    loop.remove(frontend) if free.empty? # requests wait until there is a worker
  end

  hand_over = lambda do |_|
    request = frontend.recv # [client, "", number]
    begin
      worker, = free.first
      next unless worker # the client will ask again
      drop[worker]
      backend << [worker, *request]
    rescue Godwit::UnreachableError
      retry
    end
  end

  loop.readable(backend) do
    worker, *message = backend.recv
    next free[worker]&.reset if message == [ALIVE]
    frontend << message unless message == [READY]
    free.empty? ? loop.readable(frontend, &hand_over) : free.delete(worker)&.cancel
    free[worker] = loop.after(PATIENCE * heartbeat) do
      drop[worker]
      puts "a worker is gone, #{free.size} left"
    end
  end

  loop.every(heartbeat) do
    free.keys.each do |worker|
      backend << [worker, ALIVE]
    rescue Godwit::UnreachableError
      drop[worker]
    end
  end
end
[frontend, backend].each(&:close)
