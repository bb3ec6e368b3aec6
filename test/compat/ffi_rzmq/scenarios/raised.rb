# frozen_string_literal: true

# Calls that raise, and helper methods for errors.
show "ok", ZMQ::Util.resultcode_ok?(0), ZMQ::Util.resultcode_ok?(5), ZMQ::Util.resultcode_ok?(-1),
  ZMQ::Util.error_check("zmq_bind", 0)
context = ZMQ::Context.new
socket = context.socket(ZMQ::PULL)
socket.recv_string(+"", ZMQ::DONTWAIT)
%w[
  zmq_ctx_new zmq_ctx_set zmq_ctx_get zmq_msg_init zmq_msg_copy zmq_msg_send zmq_bind
].each do |source|
  ZMQ::Util.error_check(source, -1)
rescue ZMQ::ZeroMQError => error
  show source, error.class, error.source, error.result_code, error.class.superclass
end
begin
  ZMQ::Util.error_check("zmq_ctx_new", -1)
rescue ZMQ::ZeroMQError => error
  show "code", error.error_code == ZMQ::EAGAIN, error.message
end
show "is a", ZMQ::ZeroMQError.superclass, ZMQ::NotSupportedError.superclass,
  ZMQ::MessageError.new("zmq_msg_init", -1, ZMQ::ENOMEM, "x").enomem?
begin
  ZMQ::Device.new(socket, nil)
rescue ArgumentError => error
  show "no device", error.class
end
show "no device", ZMQ::Device.create(nil, socket), ZMQ::Proxy.create(1, 2), ZMQ::Proxy.superclass
keys = ZMQ::Util.curve_keypair
show "keys", keys.map(&:size), keys.map(&:class)
show "versions", ZMQ.version, ZMQ::VERSION, LibZMQ.version, LibZMQ.version_number,
  LibZMQ.version_string, LibZMQ.version3?, LibZMQ.version4?
show "errno", LibZMQ.zmq_errno == ZMQ::Util.errno, LibZMQ.zmq_strerror(ZMQ::EFSM).read_string,
  LibZMQ.zmq_strerror(ZMQ::ETERM).read_string
show "names", ZMQ::SocketTypeNameMap.sort
show "a context",
  ZMQ::Context.new(3).then { |one| [one.io_threads, one.max_sockets, one.terminate] }
show "a context", ZMQ::Context.create(io_threads: 2, max_sockets: 50)
  .then { |one| [one.io_threads, one.max_sockets, one.terminate] }
show "a context", context.io_threads, context.max_sockets, context.pointer.null?,
  context.context == context.pointer
show "ends", socket.close, context.terminate
