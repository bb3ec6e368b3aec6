# frozen_string_literal: true

# Majordomo (RFC 7/MDP): clients ask for a service by name, workers register the service that they
# offer, and the broker connects them. It sends the request of a dead worker to another worker.
#
#   ruby -Ilib examples/guide/majordomo/broker.rb [ENDPOINT [HEARTBEAT [EXPIRY]]]
#
# HEARTBEAT is in seconds, and the same as the workers'. A request waits for a worker at most EXPIRY
# seconds.
require "godwit"
require_relative "mdp"

# Requests by service, workers by address.
class Broker
  Request = Struct.new(:client, :body, :deadline)
  Worker = Struct.new(:address, :service, :timer, :request)
  # Both lists have the oldest first.
  Service = Struct.new(:requests, :free)

  def initialize(loop, router, heartbeat, expiry)
    @loop, @router, @heartbeat, @expiry = loop, router, heartbeat, expiry
    @services = Hash.new { |all, name| all[name] = Service.new([], []) }
    @workers = {}
    loop.readable(router) { receive(*router.recv_multipart) }
    loop.every(heartbeat) { @workers.each_key { |address| command(address, MDP::HEARTBEAT) } }
  end

  private

  def receive(sender, _ = nil, protocol = nil, word = nil, *rest)
    return unless word # what speaks another protocol is dropped
    case protocol
    when MDP::CLIENT then from_client(sender, word, rest)
    when MDP::WORKER then from_worker(sender, word, rest)
    end
  end

  def from_client(client, name, body)
    if name == "mmi.service" # RFC 8/MMI
      return reply(client, name, [offered?(body.first) ? "200" : "404"])
    end
    @services[name].requests << Request.new(client, body, now + @expiry)
    dispatch(name)
  end

  def from_worker(address, word, rest)
    worker = @workers[address]
    return welcome(address, rest.first) if word == MDP::READY && !worker
    return forget(worker) if word == MDP::DISCONNECT
    valid = worker && (word == MDP::HEARTBEAT || (word == MDP::REPLY && worker.request))
    return dismiss(address) unless valid
    worker.timer.reset
    return if word == MDP::HEARTBEAT
    # Behind the client's address and the empty frame.
    reply(worker.request.client, worker.service, rest.drop(2))
    worker.request = nil
    free(worker)
  end

  def welcome(address, name)
    timer = @loop.after(MDP::PATIENCE * @heartbeat) { forget(@workers[address]) }
    free(@workers[address] = Worker.new(address, name, timer))
    puts "a worker for #{name} is here"
  end

  # The worker has broken the protocol: it has to register again.
  def dismiss(address)
    forget(@workers[address])
    command(address, MDP::DISCONNECT)
  end

  def forget(worker)
    return unless worker && @workers.delete(worker.address)
    puts "a worker for #{worker.service} is gone"
    worker.timer.cancel
    service = @services[worker.service]
    service.free.delete(worker)
    return unless worker.request
    service.requests.unshift(worker.request)
    dispatch(worker.service)
  end

  def free(worker)
    @services[worker.service].free << worker
    dispatch(worker.service)
  end

  def dispatch(name)
    service = @services[name]
    service.requests.reject! { |request| request.deadline < now }
    until service.requests.empty? || service.free.empty?
      worker = service.free.shift
      request = worker.request = service.requests.shift
      command(worker.address, MDP::REQUEST, request.client, "", *request.body)
    end
  end

  def offered?(name) = @workers.each_value.any? { |worker| worker.service == name }

  def reply(client, name, body) = @router << [client, "", MDP::CLIENT, name, *body]

  def command(address, word, *rest) = @router << [address, "", MDP::WORKER, word, *rest]

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

$stdout.sync = true
Godwit::ROUTER.bind(ARGV[0] || "tcp://127.0.0.1:5555") do |router|
  Godwit::Loop.run do |loop|
    %w[INT TERM].each { |signal| trap(signal) { loop.stop } }
    Broker.new(loop, router, Float(ARGV[1] || 1), Float(ARGV[2] || 60))
    puts "ready at #{router.last_endpoint}"
  end
end
