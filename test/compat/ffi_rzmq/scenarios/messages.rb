# frozen_string_literal: true

# All methods of ZMQ::Message.
context = ZMQ::Context.new
push, pull = pair(context, ZMQ::PUSH, ZMQ::PULL)
one = message("hello")
show "made", one.size, one.copy_out_string, one.copy_out_string.encoding, one.data.read_string(5),
  one.address.null?
rc "sendmsg", push.sendmsg(one)
show "sent", one.size, one.copy_out_string
got = ZMQ::Message.new
show "empty", got.size, got.copy_out_string
rc "recvmsg", pull.recvmsg(got)
show "received", got.size, got.copy_out_string, got.data.read_string(got.size),
  got.data.get_bytes(1, 3), got.get(ZMQ::MORE)
rc "sent on", push.sendmsg(got)
rc "recvmsg", pull.recvmsg(got)
show "received", got.copy_out_string
rc "into the same once more", push.send_string("again")
rc "recvmsg", pull.recvmsg(got)
show "received", got.copy_out_string
rc "send_and_close", push.send_and_close(message("bye"))
rc "recvmsg", pull.recvmsg(got)
show "received", got.copy_out_string
show "close", got.close, got.close, got.address

rc "parts", push.sendmsg(message("a"), ZMQ::SNDMORE)
rc "parts", push.sendmsg(message("bb"))
2.times do
  part = ZMQ::Message.create
  rc "recvmsg", pull.recvmsg(part)
  show "part", part.copy_out_string, part.get(ZMQ::MORE), pull.more_parts?
end
rc "sendmsgs", push.sendmsgs([message("1"), message("22"), message("333")])
list = []
rc "recvmsgs", pull.recvmsgs(list)
show "list", list.map(&:copy_out_string), list.map { |part| part.get(ZMQ::MORE) }, list.map(&:class)

copy = ZMQ::Message.new
source = message("shared")
rc "copy", copy.copy(source.address)
show "both", copy.copy_out_string, source.copy_out_string
moved = ZMQ::Message.new
rc "move", moved.move(source.pointer)
show "moved", moved.copy_out_string, source.size
rc "copy_in_bytes", copy.copy_in_bytes("0123456789", 4)
show "it", copy.copy_out_string
rc "copy_in_string", moved.copy_in_string("\u00e9")
show "it", moved.copy_out_string, moved.size
rc "get of no property", copy.get(77)
rc "set", copy.set(ZMQ::MORE, 1)
show "not made of an Integer", ZMQ::Message.create(5)
written = message("....")
written.data.put_bytes(0, "here")
rc "copy of what was written to data", copy.copy(written.address)
show "it", copy.copy_out_string
rc "what was written to data", push.sendmsg(written)
rc "recvmsg", pull.recvmsg(moved)
show "it", moved.copy_out_string

managed = ZMQ::ManagedMessage.new("managed")
rc "ManagedMessage", push.sendmsg(managed)
rc "recvmsg", pull.recvmsg(managed)
show "it", managed.copy_out_string, managed.is_a?(ZMQ::Message), managed.close
show "sizes", ZMQ::Message.msg_size

# A program's own class around a message.
class Wrapped
  def initialize = @inner = ZMQ::Message.new

  def address = @inner.address

  def copy_out_string = "<#{@inner.copy_out_string}>"

  def size = @inner.size

  def close = @inner.close
end
own = ZMQ::Socket.new(context.pointer, ZMQ::PULL, receiver_class: Wrapped)
own.bind("inproc://own")
push.close
push = open_socket(context, ZMQ::PUSH)
push.connect("inproc://own")
rc "to one with another receiver_class", push.send_strings(%w[x y])
list = []
rc "recvmsgs", own.recvmsgs(list)
show "list", list.map(&:class), list.map(&:copy_out_string)
show "ends", own.close, pull.close, push.close, context.terminate
