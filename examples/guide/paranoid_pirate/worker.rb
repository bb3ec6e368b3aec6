# frozen_string_literal: true

# Squares numbers for the queue. If the queue is silent for three heartbeats, the worker reconnects,
# and doubles its wait for the next heartbeat.
#
#   ruby -Ilib examples/guide/paranoid_pirate/worker.rb [BACKEND [NAME [WORK [HEARTBEAT]]]]
require "godwit"

READY, ALIVE = "\x01", "\x02"
PATIENCE = 3 # heartbeats
LONGEST = 32 # seconds between two tries

endpoint = ARGV[0] || "tcp://127.0.0.1:5556"
name = ARGV[1] || "worker #{Process.pid}"
work = Float(ARGV[2] || 0.5)
heartbeat = Float(ARGV[3] || 1)
$stdout.sync = true

connect = -> { Godwit::DEALER.connect(endpoint, linger: 0) << READY }
queue = connect.call

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }
  silence = nil

  receive = lambda do |socket|
    *envelope, number = socket.recv_multipart # [ALIVE] or [client, "", number]
    unless number == ALIVE
      puts "works on #{number}"
      sleep work
      socket << [*envelope, "#{Integer(number)**2}, says #{name}"]
    end
    silence.interval = PATIENCE * heartbeat # and restarts
  end

  loop.readable(queue, &receive)
  loop.every(heartbeat) { queue << ALIVE }
  silence = loop.every(PATIENCE * heartbeat) do |timer|
    puts "the queue is silent: reconnecting"
    timer.interval = [timer.interval * 2, LONGEST].min
    loop.remove(queue)
    queue.close
    queue = connect.call
    loop.readable(queue, &receive)
  end
end
queue.close
