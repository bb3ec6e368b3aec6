# frozen_string_literal: true

# Times round trips of a message as a String. local_lat.rb sends it back.
require "ffi-rzmq"

unless ARGV.size == 3
  abort "usage: remote_lat.rb <endpoint to connect> <message size> <round trips>"
end
endpoint = ARGV[0]
size = Integer(ARGV[1])
count = Integer(ARGV[2])

def check(code)
  return if ZMQ::Util.resultcode_ok?(code)
  abort "failed, errno [#{ZMQ::Util.errno}]: #{ZMQ::Util.error_string}"
end

context = ZMQ::Context.new
socket = context.socket(ZMQ::REQ)
check socket.setsockopt(ZMQ::LINGER, 1000)
check socket.connect(endpoint)

text = "x" * size
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
count.times do
  check socket.send_string(text)
  check socket.recv_string(text = +"")
  abort "got #{text.bytesize} bytes instead of #{size}" unless text.bytesize == size
end
seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start

puts "message size: #{size} [B]"
puts "round trips: #{count}"
puts "mean latency: %.3f [us]" % (seconds * 1_000_000 / count / 2)
check socket.close
context.terminate
