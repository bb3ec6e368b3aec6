# frozen_string_literal: true

# A device with a capture socket forwards between clients and workers until its context ends.
context = ZMQ::Context.new
front = open_socket(context, ZMQ::ROUTER)
back = open_socket(context, ZMQ::DEALER)
capture = open_socket(context, ZMQ::PUSH)
seen = open_socket(context, ZMQ::PULL)
seen.bind("inproc://seen")
capture.connect("inproc://seen")
front.bind("inproc://front")
back.bind("inproc://back")
device = Thread.new do
  made = ZMQ::Device.new(front, back, capture)
  [made.class, ZMQ::Util.errno == ZMQ::ETERM, made.device, [front, back, capture].map(&:close)]
end
worker = Thread.new do
  rep = open_socket(context, ZMQ::REP)
  rep.connect("inproc://back")
  2.times { rep.recv_string(text = +"") >= 0 && rep.send_string(text.upcase) }
  rep.close
end
req = open_socket(context, ZMQ::REQ)
req.connect("inproc://front")
%w[hello there].each do |text|
  rc "request", req.send_string(text)
  rc "reply", req.recv_string(text = +"")
  show "it", text
end
worker.join
4.times do
  seen.recv_strings(parts = [])
  show "captured", parts.last
end
[req, seen].each(&:close)
show "terminate", context.terminate
show "device", device.value
