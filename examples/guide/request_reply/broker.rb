# frozen_string_literal: true

# Request-reply with a broker: clients and workers know only the broker's two addresses, not each
# other's.
#
#   ruby -Ilib examples/guide/request_reply/broker.rb [FRONTEND [BACKEND]]
#
# Start any number of client.rb and worker.rb, in any order. Ctrl-C ends it.
require "godwit"

frontend, backend = ARGV
$stdout.sync = true

proxy = Godwit::Proxy.queue(frontend || "tcp://127.0.0.1:5559", backend || "tcp://127.0.0.1:5560")
%w[INT TERM].each { |signal| trap(signal) { proxy.stop } }
puts "ready at #{proxy.frontend.last_endpoint} for clients, " \
  "#{proxy.backend.last_endpoint} for workers"

moved = proxy.run # in C; returns when it is stopped
puts "#{moved.frontend.received} requests, #{moved.frontend.sent} replies"
proxy.close
