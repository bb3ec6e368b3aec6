# frozen_string_literal: true

# local_lat.rb with messages that Ruby never copies: it sends back the received message.
require "ffi-rzmq"

unless ARGV.size == 3
  abort "usage: local_lat_zerocopy.rb <endpoint to bind> <message size> <round trips>"
end
endpoint = ARGV[0]
size = Integer(ARGV[1])
count = Integer(ARGV[2])

def check(code)
  return if ZMQ::Util.resultcode_ok?(code)
  abort "failed, errno [#{ZMQ::Util.errno}]: #{ZMQ::Util.error_string}"
end

context = ZMQ::Context.new
socket = context.socket(ZMQ::REP)
check socket.setsockopt(ZMQ::LINGER, 1000)
check socket.bind(endpoint)

message = ZMQ::Message.new
count.times do
  check socket.recvmsg(message)
  abort "got #{message.size} bytes instead of #{size}" unless message.size == size
  check socket.sendmsg(message)
end

puts "sent #{count} messages back"
message.close
check socket.close
context.terminate
