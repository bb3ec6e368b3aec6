# frozen_string_literal: true

# Serves many clients, each with many requests in flight. WORKERS threads answer each request with
# several messages.
#
#   ruby -Ilib examples/guide/async_server/server.rb [ENDPOINT [WORKERS]]
require "godwit"

PARTS = 3

proxy = Godwit::Proxy.queue(ARGV[0] || "tcp://127.0.0.1:5570", "inproc://workers")
%w[INT TERM].each { |signal| trap(signal) { proxy.stop } }
$stdout.sync = true

sockets = Array.new(Integer(ARGV[1] || 5)) { Godwit::DEALER.connect("inproc://workers") }
workers = sockets.map do |socket|
  Thread.new do
    socket.each do |client, request| # the proxy's ROUTER has put the client's address before it
      1.upto(PARTS) { |part| socket << [client, request, "#{part}/#{PARTS}"] }
    end
  end
end

puts "ready at #{proxy.frontend.last_endpoint}"
moved = proxy.run
puts "#{moved.frontend.received} requests, #{moved.frontend.sent} replies"
sockets.each(&:close) # which ends each
workers.each(&:join)
proxy.close
