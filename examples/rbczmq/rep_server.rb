# frozen_string_literal: true

# A REP server, written for rbczmq: answers each request with "pong", until the request "stop".
#
#   ruby -rgodwit/compat/rbczmq rep_server.rb [ENDPOINT]
require "zmq"

ctx = ZMQ::Context.new
rep = ctx.socket(:REP)
port = rep.bind(ARGV[0] || "tcp://127.0.0.1:5555")
puts "listening on port #{port}"
$stdout.flush

count = 0
while (request = rep.recv)
  rep.send((request == "stop") ? "stopped" : "pong")
  break if request == "stop"
  count += 1
end

puts "#{count} requests answered"
ctx.destroy
