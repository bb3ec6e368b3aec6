# frozen_string_literal: true

# remote_lat.rb with messages that Ruby copies once at the start and once at the end: its class
# reads a message only on demand.
require "ffi-rzmq"

unless ARGV.size == 3
  abort "usage: remote_lat_zerocopy.rb <endpoint to connect> <message size> <round trips>"
end
endpoint = ARGV[0]
size = Integer(ARGV[1])
count = Integer(ARGV[2])
abort "a message has 8 bytes or more" if size < 8

def check(code)
  return if ZMQ::Util.resultcode_ok?(code)
  abort "failed, errno [#{ZMQ::Util.errno}]: #{ZMQ::Util.error_string}"
end

# A number in eight bytes, and padding.
class Numbered
  attr_reader :message

  def initialize(number, size)
    @message = ZMQ::Message.new([number].pack("Q>").ljust(size, "\0"))
  end

  def number
    @number ||= message.data.read_string(8).unpack1("Q>") # these eight are all that is copied
  end
end

context = ZMQ::Context.new
socket = context.socket(ZMQ::REQ)
check socket.setsockopt(ZMQ::LINGER, 1000)
check socket.connect(endpoint)

numbered = Numbered.new(4711, size)
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
count.times do
  check socket.sendmsg(numbered.message)
  check socket.recvmsg(numbered.message)
  abort "got #{numbered.message.size} bytes instead of #{size}" unless numbered.message.size == size
end
seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start

puts "message size: #{size} [B]"
puts "round trips: #{count}"
puts "its number: #{numbered.number}"
puts "mean latency: %.3f [us]" % (seconds * 1_000_000 / count / 2)
numbered.message.close
check socket.close
context.terminate
