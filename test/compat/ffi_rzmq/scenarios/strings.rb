# frozen_string_literal: true

# Strings sent frame by frame, and several frames in one call.
context = ZMQ::Context.new
push, pull = pair(context, ZMQ::PUSH, ZMQ::PULL)
rc "send_string", push.send_string("hello")
rc "an empty one", push.send_string("")
rc "nil", push.send_string(nil)
rc "bytes", push.send_string("\u00e9\0\xff".b)
4.times do
  text = +"old"
  rc "recv_string", pull.recv_string(text)
  show "it", text, text.encoding
end

rc "part", push.send_string("a", ZMQ::SNDMORE)
rc "part", push.send_string("bb", ZMQ::SNDMORE)
rc "last", push.send_string("ccc")
text = +""
3.times do
  rc "recv_string", pull.recv_string(text)
  more = []
  rc "RCVMORE", pull.getsockopt(ZMQ::RCVMORE, more)
  show "it", text, pull.more_parts?, more
end

rc "send_strings", push.send_strings(%w[one two three])
list = ["kept"]
rc "recv_strings", pull.recv_strings(list)
show "list", list, list.last.encoding
rc "of one", push.send_strings(["alone"])
list = []
rc "recv_strings", pull.recv_strings(list)
show "list", list
rc "the rest", push.send_strings(%w[one two three])
rc "recv_string", pull.recv_string(text)
rc "recv_strings", pull.recv_strings(list = [])
show "list", list, pull.more_parts?
show "none", push.send_strings([]), push.send_strings(nil), push.sendmsgs([]), push.sendmsgs(nil)
rc "nil among them", push.send_strings(["a", nil, "c"])
rc "recv_strings", pull.recv_strings(list = [])
show "list", list
rc "a part, then several", push.send_string("first", ZMQ::SNDMORE)
rc "send_strings", push.send_strings(%w[second third])
rc "recv_strings", pull.recv_strings(list = [])
show "list", list
large = "x" * 1_000_000
rc "a large one", push.send_string(large)
rc "recv_string", pull.recv_string(text)
show "the same", text == large
begin
  push.send_string("x")
  pull.recv_string("frozen")
rescue => error
  show "into a frozen String", error.class
end
show "close", push.close, pull.close, push.close
show "terminate", context.terminate, context.terminate
