# frozen_string_literal: true

# A device between clients and workers, all in one process: the clients do not know how many workers
# there are.
require "ffi-rzmq"

abort "usage: queue.rb <clients> <workers> <requests of each client>" unless ARGV.size == 3
clients, workers, requests = ARGV.map { |argument| Integer(argument) }

def check(code)
  return code if ZMQ::Util.resultcode_ok?(code)
  abort "failed, errno [#{ZMQ::Util.errno}]: #{ZMQ::Util.error_string}"
end

context = ZMQ::Context.new
front = context.socket(ZMQ::ROUTER)
back = context.socket(ZMQ::DEALER)
check front.bind("inproc://clients")
check back.bind("inproc://workers")

device = Thread.new do
  ZMQ::Device.new(front, back) # returns when the context is terminated
  [front, back].each(&:close)
end

ready = Thread::Queue.new
working = Array.new(workers) do
  Thread.new do
    socket = context.socket(ZMQ::REP)
    check socket.connect("inproc://workers")
    ready << socket
    text = +""
    while ZMQ::Util.resultcode_ok?(socket.recv_string(text))
      check socket.send_string(text.reverse)
    end
    ended = ZMQ::Util.errno == ZMQ::ETERM
    socket.close
    ended
  end
end

asking = Array.new(clients) do |client|
  Thread.new do
    socket = context.socket(ZMQ::REQ)
    check socket.connect("inproc://clients")
    right = (1..requests).count do |number|
      question = "client #{client} request #{number}"
      check socket.send_string(question)
      check socket.recv_string(answer = +"")
      answer == question.reverse
    end
    check socket.close
    right
  end
end

right = asking.sum(&:value)
workers.times { ready.pop } # the clients may be done before the last of them has begun
context.terminate
device.join
puts "#{right} right answers; #{working.count(&:value)} workers heard of the end"
