# frozen_string_literal: true

# Calls that fail return -1 and set an errno.
context = ZMQ::Context.new
push = open_socket(context, ZMQ::PUSH)
pull = open_socket(context, ZMQ::PULL)
rep = open_socket(context, ZMQ::REP)
req = open_socket(context, ZMQ::REQ)
text = +"kept"
rc "no peer", push.send_string("x", ZMQ::DONTWAIT)
rc "no peer, first part", push.send_string("x", ZMQ::DONTWAIT | ZMQ::SNDMORE)
rc "no peer, several", push.send_strings(%w[a b], ZMQ::DONTWAIT)
rc "no peer, a message", push.sendmsg(kept = message("kept"), ZMQ::NOBLOCK)
show "not lost", kept.copy_out_string
rc "no peer, closed then", push.send_and_close(kept, ZMQ::NOBLOCK)
show "address", kept.address
rc "nothing there", pull.recv_string(text, ZMQ::DONTWAIT)
show "text", text
rc "nothing there", pull.recv_strings(list = [], ZMQ::DONTWAIT)
rc "nothing there", pull.recvmsg(ZMQ::Message.new, ZMQ::DONTWAIT)
rc "nothing there", pull.recvmsgs(list, ZMQ::DONTWAIT)
rc "nothing there", pull.recv_multipart(list, list, ZMQ::DONTWAIT)
show "list", list
rc "a PUSH receives", push.recv_string(text)
rc "a PULL sends", pull.send_string("x")
rc "a PULL sends a part", pull.send_string("x", ZMQ::SNDMORE)
rc "a REQ receives first", req.recv_string(text)
rc "a REP sends first", rep.send_string("x")
rc "a REP sends a part first", rep.send_string("x", ZMQ::SNDMORE)
rep.bind("inproc://rep")
req.connect("inproc://rep")
rc "request", req.send_string("x")
rc "twice", req.send_string("x")
rc "twice, a part", req.send_string("x", ZMQ::SNDMORE)
rc "a REP receives", rep.recv_string(text)
rc "twice", rep.recv_string(text)
rc "reply", rep.send_strings(%w[y z])
rc "to the REQ", req.recv_string(text)
rc "which sends before it has read all", req.send_string("x")
rc "rest", req.recv_string(text)
rc "then it may", req.send_string("x")

rc "bind", pull.bind("tcp://127.0.0.1:*")
rc "address in use", rep.bind(endpoint_of(pull))
rc "inproc in use", pull.bind("inproc://rep")
rc "no transport", push.connect("foo://bar")
rc "no endpoint", push.connect("nonsense")
rc "not an address", push.bind("tcp://no-such-interface:5555")
rc "not of this machine", push.bind("tcp://192.0.2.1:5555")
rc "no such folder", push.bind("ipc:///no/such/folder/x")
rc "never bound there", push.unbind("tcp://127.0.0.1:5555")
rc "never connected there", push.disconnect("tcp://127.0.0.1:5555")
rc "connect", push.connect(endpoint_of(pull))
rc "disconnect", push.disconnect(endpoint_of(pull))
rc "unbind", pull.unbind(endpoint_of(pull))

rc "of another type", push.setsockopt(ZMQ::SUBSCRIBE, "x")
rc "a value that is too small", push.setsockopt(ZMQ::SNDHWM, -5)
rc "a name that is too long", push.setsockopt(ZMQ::IDENTITY, "x" * 300)
rc "an empty name", push.setsockopt(ZMQ::IDENTITY, "")

show "no such type", context.socket(99)
show "no context", ZMQ::Socket.create(nil, ZMQ::REQ)
begin
  ZMQ::Socket.new(nil, ZMQ::REQ)
rescue ZMQ::ContextError => error
  show "no context", error.class, error.source, error.result_code, error.error_code == ZMQ::ETERM,
    error.eterm?, error.einval?
end
show "bad contexts", ZMQ::Context.create(io_threads: -1), ZMQ::Context.create(max_sockets: -1),
  ZMQ::Context.create(-1)
begin
  ZMQ::Context.new(io_threads: -1)
rescue ZMQ::ZeroMQError => error
  show "a bad context", error.class, error.source, error.result_code, error.error_code,
    error.einval?, error.eterm?
end
small = ZMQ::Context.new(max_sockets: 1)
first = small.socket(ZMQ::PAIR)
show "too many", first.name, small.socket(ZMQ::PAIR), ZMQ::Util.errno
first.close
small.terminate

[push, pull, req, rep].each(&:close)
rc "closed: send_string", push.send_string("x")
rc "closed: a part", push.send_string("x", ZMQ::SNDMORE)
rc "closed: recv_string", pull.recv_string(text)
rc "closed: recvmsgs", pull.recvmsgs([])
rc "closed: setsockopt", push.setsockopt(ZMQ::LINGER, 0)
rc "closed: getsockopt", push.getsockopt(ZMQ::LINGER, [])
rc "closed: bind", push.bind("inproc://x")
rc "closed: connect", push.connect("inproc://x")
rc "closed: unbind", push.unbind("inproc://x")
rc "closed: disconnect", push.disconnect("inproc://x")
show "closed", push.close, push.socket, push.more_parts?, push.identity
show "terminate", context.terminate, context.pointer, context.socket(ZMQ::REQ)
