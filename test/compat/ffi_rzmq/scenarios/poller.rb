# frozen_string_literal: true

# Polling sockets, IOs, and wrappers of sockets.
context = ZMQ::Context.new
poller = ZMQ::Poller.new
show "nothing registered", poller.poll(0), poller.poll(:blocking), poller.poll_nonblock,
  poller.size, poller.readables, poller.writables
one, one_peer = pair(context, ZMQ::PULL, ZMQ::PUSH)
two, two_peer = pair(context, ZMQ::PAIR, ZMQ::PAIR)
name = {one => "one", two => "two", one_peer => "one_peer"}
found = -> do
  [
    poller.readables.map { |thing| name[thing] || thing.class },
    poller.writables.map { |thing| name[thing] || thing.class }
  ]
end
show "register", poller.register_readable(one), poller.register(two), poller.register(nil),
  poller.register(one, 0), poller.size
show "writable", poller.poll(1000), *found.call
show "deregister", poller.deregister_writable(two), poller.deregister_writable(two),
  poller.deregister(one_peer, ZMQ::POLLIN), poller.size
show "nothing", poller.poll(10), *found.call
one_peer.send_string("x")
show "one", poller.poll(1000), *found.call
show "still", poller.poll(0), *found.call
two_peer.send_strings(%w[a b])
poller.poll(1000) until poller.readables.size == 2
show "both", poller.poll(-1), *found.call
one.recv_string(text = +"")
two.recv_string(text)
show "half read", poller.poll(0), *found.call
two.recv_string(text)
show "all read", poller.poll(0), *found.call
show "never writable", poller.register_writable(one), poller.poll(10), *found.call
show "delete", poller.delete(one), poller.delete(one), poller.delete(:no), poller.size

# A new poller: in ffi-rzmq a change of an item's events is lost when another item is added.
poller = ZMQ::Poller.new
reader, writer = IO.pipe
show "IO", poller.register(reader, ZMQ::POLLIN), poller.register_writable(writer),
  poller.poll(1000), *found.call
writer.write("x")
show "IO", poller.poll(1000), *found.call
reader.read(1)
show "IO", poller.poll(0), *found.call
show "delete", poller.delete(writer), poller.delete(reader), poller.size, poller.poll(:blocking)

# A wrapper of a socket.
Holder = Struct.new(:socket)
holder = Holder.new(two.socket)
show "a wrapper", poller.register_readable(holder), poller.poll(0)
two_peer.send_string("y")
show "a wrapper", poller.poll(1000), *found.call
show "a large time", poller.poll(3_600_000)
show "a Float", poller.poll(1.5)
[one, one_peer, two, two_peer].each(&:close)
show "terminate", context.terminate
