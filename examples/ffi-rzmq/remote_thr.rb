# frozen_string_literal: true

# Sends as many messages as local_thr.rb counts.
require "ffi-rzmq"

abort "usage: remote_thr.rb <endpoint to connect> <message size> <messages>" unless ARGV.size == 3
endpoint = ARGV[0]
size = Integer(ARGV[1])
count = Integer(ARGV[2])

def check(code)
  return if ZMQ::Util.resultcode_ok?(code)
  abort "failed, errno [#{ZMQ::Util.errno}]: #{ZMQ::Util.error_string}"
end

context = ZMQ::Context.new
socket = context.socket(ZMQ::PUSH)
check socket.setsockopt(ZMQ::LINGER, 10_000) # what is still on its way at the end
check socket.connect(endpoint)

text = "x" * size
count.times { check socket.send_string(text) }

puts "sent #{count} messages"
check socket.close
context.terminate
