# frozen_string_literal: true

# Counts messages for a throughput measurement. Start it, then remote_thr.rb.
require "ffi-rzmq"

abort "usage: local_thr.rb <endpoint to bind> <message size> <messages>" unless ARGV.size == 3
endpoint = ARGV[0]
size = Integer(ARGV[1])
count = Integer(ARGV[2])

def check(code)
  return if ZMQ::Util.resultcode_ok?(code)
  abort "failed, errno [#{ZMQ::Util.errno}]: #{ZMQ::Util.error_string}"
end

context = ZMQ::Context.new
socket = context.socket(ZMQ::PULL)
check socket.bind(endpoint)

message = ZMQ::Message.new
check socket.recvmsg(message) # the clock starts when the first is here
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
(count - 1).times do
  check socket.recvmsg(message)
  abort "got #{message.size} bytes instead of #{size}" unless message.size == size
end
seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start

puts "message size: #{size} [B]"
puts "message count: #{count}"
puts "mean throughput: %d [msg/s]" % (count / seconds)
puts "mean throughput: %.3f [Mb/s]" % (count * size * 8 / seconds / 1_000_000)
message.close
check socket.close
context.terminate
