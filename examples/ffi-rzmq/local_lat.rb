# frozen_string_literal: true

# Sends each message back as a String: the server of a latency measurement. Start it, then
# remote_lat.rb.
require "ffi-rzmq"

abort "usage: local_lat.rb <endpoint to bind> <message size> <round trips>" unless ARGV.size == 3
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

text = +""
count.times do
  check socket.recv_string(text)
  abort "got #{text.bytesize} bytes instead of #{size}" unless text.bytesize == size
  check socket.send_string(text)
end

puts "sent #{count} messages back"
check socket.close
context.terminate
