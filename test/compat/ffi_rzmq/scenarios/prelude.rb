# frozen_string_literal: true

# Shared by the scenarios beside this file. They are programs for ffi-rzmq that do not refer to
# Godwit: scenarios_test.rb runs each with the gem and with the layer, and compares the output.
require "ffi-rzmq"
$stdout.sync = true

# Prints a line for a call: its name and its results.
def show(what, *values)
  puts "#{what}: #{values.map(&:inspect).join(" ")}"
end

# Prints a return code, and the errno of a failure.
def rc(what, code)
  show(what, code, *([ZMQ::Util.errno, ZMQ::Util.error_string] if code == -1))
end

# A socket whose time-outs and linger keep the program from hanging.
def open_socket(context, type)
  socket = context.socket(type)
  {ZMQ::LINGER => 0, ZMQ::RCVTIMEO => 5000, ZMQ::SNDTIMEO => 5000}.each do |option, value|
    socket.setsockopt(option, value)
  end
  socket
end

# Two sockets, the first bound and the second connected.
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
