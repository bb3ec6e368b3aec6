# frozen_string_literal: true

# Polls two sockets in one loop, a REP and a SUB, until the programme is over.
require "ffi-rzmq"

abort "usage: poll.rb <messages of each>" unless ARGV.size == 1
count = Integer(ARGV[0])

def check(code)
  return code if ZMQ::Util.resultcode_ok?(code)
  abort "failed, errno [#{ZMQ::Util.errno}]: #{ZMQ::Util.error_string}"
end

context = ZMQ::Context.new
questions = context.socket(ZMQ::REP)
news = context.socket(ZMQ::SUB)
check questions.bind("inproc://questions")
check news.bind("inproc://news")
check news.setsockopt(ZMQ::SUBSCRIBE, "")

reporter = Thread.new do
  socket = context.socket(ZMQ::XPUB)
  check socket.connect("inproc://news")
  check socket.recv_string(+"") # the subscription: from here on nothing is lost
  count.times { |number| check socket.send_string("news #{number}") }
  check socket.close
end

asker = Thread.new do
  socket = context.socket(ZMQ::REQ)
  check socket.connect("inproc://questions")
  answers = Array.new(count) do |number|
    check socket.send_string("question #{number}")
    check socket.recv_string(answer = +"")
    answer
  end
  check socket.close
  answers
end

poller = ZMQ::Poller.new
poller.register(questions, ZMQ::POLLIN)
poller.register_readable(news)
asked = heard = 0
until asked == count && heard == count
  check poller.poll(:blocking)
  poller.readables.each do |socket|
    text = +""
    # Several messages may be ready at one wake-up.
    until socket.recv_string(text, ZMQ::DONTWAIT) == -1
      if socket.equal?(questions)
        asked += 1
        check socket.send_string("answer to #{text}")
      else
        heard += 1
      end
    end
    abort "failed: #{ZMQ::Util.error_string}" unless ZMQ::Util.errno == ZMQ::EAGAIN
  end
end

reporter.join
puts "asked #{asked} times, heard #{heard} news, the last answer was: #{asker.value.last}"
[questions, news].each(&:close)
context.terminate
