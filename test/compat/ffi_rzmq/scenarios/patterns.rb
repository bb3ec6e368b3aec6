# frozen_string_literal: true

# Messaging patterns, over tcp and ipc.
context = ZMQ::Context.new
req, rep = pair(context, ZMQ::REQ, ZMQ::REP, "tcp://127.0.0.1:*")
3.times do |round|
  rc "request", req.send_string("question #{round}")
  rc "taken", rep.recv_string(text = +"")
  rc "reply", rep.send_string("#{text}!")
  rc "answer", req.recv_string(text)
  show "it", text
end

router, dealer = pair(context, ZMQ::ROUTER, ZMQ::DEALER, "tcp://127.0.0.1:*")
other = open_socket(context, ZMQ::DEALER)
other.identity = "other"
other.connect(endpoint_of(router))
rc "from a DEALER", other.send_strings(["", "body", "more"])
body = []
envelope = []
rc "recv_multipart", router.recv_multipart(body, envelope)
show "envelope", envelope.map(&:copy_out_string), body.map(&:copy_out_string)
rc "back", router.sendmsgs(envelope + body)
body = []
envelope = []
rc "recv_multipart", other.recv_multipart(body, envelope)
show "envelope", envelope.map(&:copy_out_string), body.map(&:copy_out_string)
rc "to nobody", router.send_strings(%w[nobody x])
rc "mandatory", router.setsockopt(ZMQ::ROUTER_MANDATORY, 1)
rc "to nobody", router.send_strings(["nobody", "", "x"])
rc "to somebody", router.send_strings(["other", "", "x"])
rc "recv_strings", other.recv_strings(list = [])
show "list", list
rc "without an empty part", other.send_strings(%w[a b])
rc "recv_multipart", router.recv_multipart(body = [], envelope = [])
show "envelope", envelope.map(&:copy_out_string), body.map(&:copy_out_string)
dealer.close

one, two = pair(context, ZMQ::PAIR, ZMQ::PAIR, "ipc:///tmp/godwit-scenario-#{Process.pid}")
rc "one", one.send_string("there")
rc "two", two.recv_string(text = +"")
rc "two", two.send_string("and back")
rc "one", one.recv_string(text)
show "it", text

rc "one that keeps nothing", one.setsockopt(ZMQ::SNDHWM, 1)
show "relaxed", req.setsockopt(ZMQ::REQ_RELAXED, 1), req.send_string("a"),
  req.send_string("b", ZMQ::SNDMORE), req.send_string("c")
rep.recv_string(text)
show "first", text
show "ends", [req, rep, router, other, one, two].map(&:close), context.terminate
