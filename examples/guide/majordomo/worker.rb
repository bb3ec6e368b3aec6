# frozen_string_literal: true

# Offers a service to the Majordomo broker: "square" or "reverse". It runs each request in a thread,
# so it can send heartbeats meanwhile. A request takes WORK seconds.
#
#   ruby -Ilib examples/guide/majordomo/worker.rb [ENDPOINT [SERVICE [NAME [WORK [HEARTBEAT]]]]]
require "godwit"
require_relative "mdp"

SERVICES = {"square" => ->(text) { text.to_i**2 }, "reverse" => ->(text) { text.reverse }}.freeze

endpoint = ARGV[0] || "tcp://127.0.0.1:5555"
service = ARGV[1] || "square"
name = ARGV[2] || "worker #{Process.pid}"
work = Float(ARGV[3] || 0.5)
heartbeat = Float(ARGV[4] || 1)
action = SERVICES.fetch(service)
$stdout.sync = true

connect = lambda do
  Godwit::DEALER.connect(endpoint, linger: 0) << ["", MDP::WORKER, MDP::READY, service]
end
broker = connect.call

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }
  silence = nil

  receive = lambda do |socket|
    _, _, word, client, _, body = socket.recv
    silence.reset
    case word
    when MDP::DISCONNECT
      silence.call
    when MDP::REQUEST
      puts "works on #{body}"
      Thread.new do
        sleep work
        result = begin
          action.call(body)
        rescue => error # without any reply the broker would take this worker for busy, for ever
          "refused (#{error.class})"
        end
        socket << ["", MDP::WORKER, MDP::REPLY, client, "", "#{result}, says #{name}"]
      rescue Godwit::ClosedError
        nil # the broker went meanwhile; another worker does it
      end
    end
  end

  loop.readable(broker, &receive)
  loop.every(heartbeat) { broker << ["", MDP::WORKER, MDP::HEARTBEAT] }
  silence = loop.every(MDP::PATIENCE * heartbeat) do
    puts "reconnecting"
    loop.remove(broker)
    broker.close
    broker = connect.call
    loop.readable(broker, &receive)
  end
end
broker << ["", MDP::WORKER, MDP::DISCONNECT]
broker.linger = 1
broker.close
