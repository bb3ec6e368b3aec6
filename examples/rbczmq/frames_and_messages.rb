# frozen_string_literal: true

# Forwards frames and messages: a client, a broker that wraps and unwraps, a worker. Written for
# rbczmq.
#
#   ruby -rgodwit/compat/rbczmq frames_and_messages.rb
require "zmq"

ctx = ZMQ::Context.new
router = ctx.bind(:ROUTER, "inproc://clients")
dealer = ctx.bind(:DEALER, "inproc://workers")
client = ctx.connect(:REQ, "inproc://clients")
worker = ctx.connect(:REP, "inproc://workers")

client.send_frame(ZMQ::Frame("question"))

request = router.recv_message
address = request.unwrap
puts "the broker has #{request.size} frame of #{request.content_size} bytes: #{request.first.data}"
request.wrap(address)
dealer.send_message(request)
puts "the request is #{request.gone? ? "gone" : "still there"}"

asked = worker.recv_frame
puts "the worker was asked: #{asked.data} (#{asked.strhex})"
answer = ZMQ::Message.new
answer.addstr("answer")
answer.addstr("to #{asked}")
worker.send_message(answer)

reply = dealer.recv_message
copy = ZMQ::Message.decode(reply.encode)
puts "the reply has #{copy.size} frames, equal after encode and decode: #{copy == reply}"
while (frame = reply.pop)
  last = reply.size.zero?
  router.send_frame(frame, last ? 0 : ZMQ::Frame::MORE)
end

parts = [client.recv_frame.data]
parts << client.recv while client.rcvmore?
puts "the client got: #{parts.join(" ")}"
ctx.destroy
