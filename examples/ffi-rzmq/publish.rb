# frozen_string_literal: true

# Publishes the weather of three towns until Ctrl-C. subscribe.rb receives it.
require "ffi-rzmq"

abort "usage: publish.rb <endpoint to bind>" unless ARGV.size == 1

context = ZMQ::Context.new
socket = context.socket(ZMQ::PUB)
socket.setsockopt(ZMQ::LINGER, 0)
unless ZMQ::Util.resultcode_ok?(socket.bind(ARGV[0]))
  abort "cannot bind: #{ZMQ::Util.error_string}"
end

stop = false
trap("INT") { stop = true }
number = 0
until stop
  number += 1
  %w[oslo rome quito].each do |town|
    socket.send_string(town, ZMQ::SNDMORE)
    socket.send_string("update #{number}: #{rand(-10..35)} degrees")
  end
  sleep 0.01
end

puts "no more weather"
socket.close
context.terminate
