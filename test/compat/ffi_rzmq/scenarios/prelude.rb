# frozen_string_literal: true

# What the scenarios beside this file share. They are programs for ffi-rzmq, which know nothing of
# Godwit: scenarios_test.rb runs each with the gem and with the door, and compares what they print.
require "ffi-rzmq"
$stdout.sync = true

# Prints a line for each call: its words, and what it gave.
def show(what, *values)
  puts "#{what}: #{values.map(&:inspect).join(" ")}"
end

# Prints a return code; of one that failed the errno too.
def rc(what, code)
  show(what, code, *([ZMQ::Util.errno, ZMQ::Util.error_string] if code == -1))
end

# A socket that neither hangs nor delays the end.
def open_socket(context, type)
  socket = context.socket(type)
  {ZMQ::LINGER => 0, ZMQ::RCVTIMEO => 5000, ZMQ::SNDTIMEO => 5000}.each do |option, value|
    socket.setsockopt(option, value)
  end
  socket
end

# Two, the first bound and the second connected.
def pair(context, one, other, endpoint = "inproc://pair-#{context.object_id}-#{one}-#{other}")
  sockets = [open_socket(context, one), open_socket(context, other)]
  raise "bind" unless sockets[0].bind(endpoint) == 0
  raise "connect" unless sockets[1].connect(endpoint_of(sockets[0])) == 0
  sockets
end

def endpoint_of(socket)
  found = []
  socket.getsockopt(ZMQ::LAST_ENDPOINT, found)
  found.first.delete("\0")
end

def message(text) = ZMQ::Message.new(text)
