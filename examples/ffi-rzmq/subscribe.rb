# frozen_string_literal: true

# Receives the weather of some towns, and counts the updates.
require "ffi-rzmq"

abort "usage: subscribe.rb <endpoint to connect> <updates> <town>..." if ARGV.size < 3
endpoint, count, *towns = ARGV

context = ZMQ::Context.new
socket = context.socket(ZMQ::SUB)
towns.each { |town| socket.setsockopt(ZMQ::SUBSCRIBE, town) }
unless ZMQ::Util.resultcode_ok?(socket.connect(endpoint))
  abort "cannot connect: #{ZMQ::Util.error_string}"
end

seen = Hash.new(0)
Integer(count).times do
  parts = []
  unless ZMQ::Util.resultcode_ok?(socket.recv_strings(parts))
    abort "failed: #{ZMQ::Util.error_string}"
  end
  seen[parts[0]] += 1
end

puts "#{seen.values.sum} updates of #{seen.keys.sort.join(" and ")}"
socket.close
context.terminate
