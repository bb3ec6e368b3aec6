# frozen_string_literal: true

# Contexts that end while threads use them, linger, a device that echoes, and a poller with objects
# of the program's own class.
require "ffi"
unless IO.method_defined?(:posix_fileno)
  class IO
    def posix_fileno = fileno
  end
end

context = ZMQ::Context.new
socket = context.socket(ZMQ::PUSH)
socket.getsockopt(ZMQ::LINGER, linger = [])
show "linger of a fresh one", linger
socket.close

{"Device" => ->(rep) { ZMQ::Device.new(rep, rep) },
 "zmq_proxy" => ->(rep) { LibZMQ.zmq_proxy(rep.socket, rep.socket, nil) }}.each do |name, echo|
  own = ZMQ::Context.new
  rep = own.socket(ZMQ::REP)
  rep.bind("inproc://echo")
  req = own.socket(ZMQ::REQ)
  req.connect("inproc://echo")
  heart = Thread.new { echo.call(rep) && rep.close }
  3.times do |i|
    req.send_string("ping #{i}")
    req.recv_string(got = +"")
    show name, got
  end
  req.setsockopt(ZMQ::LINGER, 0)
  req.close
  show "#{name} ended", own.terminate
  show "rep closed", heart.value
end

own = ZMQ::Context.new
told = Queue.new
go = Queue.new
workers = Array.new(2) do |number|
  Thread.new do
    pull = own.socket(ZMQ::PULL)
    pull.bind("inproc://worker#{number}")
    told << true
    pull.recv_string(+"")
    told << ZMQ::Util.errno
    go.pop
    told << pull.close
  end
end
2.times { told.pop }
ending = Thread.new { own.terminate }
show "told", Array.new(2) { told.pop == ZMQ::ETERM }
show "waits", ending.join(0.2).nil?
2.times { go << true }
show "closed", Array.new(2) { told.pop }
show "terminated", ending.value
workers.each(&:join)

reader, writer = IO.pipe
numbered = Class.new do
  define_method(:posix_fileno) { reader.fileno }
  attr_writer :closed
  define_method(:closed?) { @closed ? true : false }
end.new
holder = Class.new { define_method(:io) { reader } }.new
[numbered, holder].each do |thing|
  poller = ZMQ::Poller.new
  show "register", poller.register_readable(thing)
  show "poll", poller.poll(0)
  writer.syswrite("x")
  show "poll", poller.poll(1000)
  show "it", poller.readables == [thing]
  reader.sysread(1)
end
poller = ZMQ::Poller.new
poller.register(numbered, ZMQ::POLLIN | ZMQ::POLLOUT)
numbered.closed = true
show "deregister", poller.deregister(numbered, ZMQ::POLLOUT)
show "left", poller.size
