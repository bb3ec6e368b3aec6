# frozen_string_literal: true

# See runtimes.rb: one call through the gem ffi for a message and nothing else: no check, no lock,
# no String made of what comes. It waits in zmq_poll. What a library over FFI adds stands beside
# this. Whole: the calls without which no library can give a String of a message of any size, and
# know whether more of the message follows.
require "ffi"
require_relative "runtimes"

module BareFFI
  extend FFI::Library

  ffi_lib(%w[libzmq.so.5 libzmq.5.dylib])
  attach_function :zmq_ctx_new, [], :pointer
  attach_function :zmq_ctx_term, %i[pointer], :int, blocking: true
  attach_function :zmq_socket, %i[pointer int], :pointer
  attach_function :zmq_close, %i[pointer], :int
  attach_function :zmq_bind, %i[pointer string], :int
  attach_function :zmq_connect, %i[pointer string], :int
  attach_function :zmq_getsockopt, %i[pointer int pointer pointer], :int
  attach_function :zmq_send, %i[pointer buffer_in size_t int], :int
  attach_function :zmq_recv, %i[pointer pointer size_t int], :int
  attach_function :zmq_msg_init, %i[pointer], :int
  # Addresses are Integers here, which spares a pointer's object for each.
  attach_function :receive_message, :zmq_msg_recv, %i[ulong ulong int], :int
  attach_function :more, :zmq_msg_more, %i[ulong], :int
  attach_function :data, :zmq_msg_data, %i[ulong], :ulong
  attach_function :zmq_poll, %i[pointer int long], :int, blocking: true

  REQ = 3
  REP = 4
  PULL = 7
  PUSH = 8
  LAST_ENDPOINT = 32
  DONTWAIT = 1
  READABLE = 1
  WRITABLE = 2
  MAX = 65_536
  MESSAGE_SIZE = 64
  MEMORY = FFI::Pointer.new(1) # at 0 it could not be read

  module_function

  def server(endpoint)
    make(PULL, REP)
    @sockets.map do |socket|
      check zmq_bind(socket, endpoint)
      bound = FFI::MemoryPointer.new(256)
      size = FFI::MemoryPointer.new(:size_t)
      size.write_ulong(256)
      check zmq_getsockopt(socket, LAST_ENDPOINT, bound, size)
      bound.read_string
    end
  end

  def client(*endpoints)
    make(PUSH, REQ)
    @sockets.zip(endpoints) { |socket, endpoint| check zmq_connect(socket, endpoint) }
  end

  def make(*types)
    @context = zmq_ctx_new
    @sockets = types.map { |type| zmq_socket(@context, type) }
    @buffer = FFI::MemoryPointer.new(MAX)
    @item = FFI::MemoryPointer.new(16) # zmq_pollitem_t: socket, descriptor, events, what came
  end

  def check(code)
    abort "libzmq: errno #{FFI.errno}" if code < 0
  end

  def close
    @sockets.each { |socket| zmq_close(socket) }
    zmq_ctx_term(@context)
  end

  def wait(socket, events)
    @item.put_pointer(0, socket)
    @item.put_int16(12, events)
    check zmq_poll(@item, 1, -1)
  end

  def send_one(socket, payload, size)
    wait(socket, WRITABLE) while zmq_send(socket, payload, size, DONTWAIT) < 0
  end

  def receive_one(socket)
    size = zmq_recv(socket, @buffer, MAX, DONTWAIT)
    while size < 0
      wait(socket, READABLE)
      size = zmq_recv(socket, @buffer, MAX, DONTWAIT)
    end
    size
  end

  def send(step, payload, count)
    push = @sockets.first
    while count > 0
      send_one(push, payload, step.size)
      count -= 1
    end
  end

  def receive(step, count)
    pull = @sockets.first
    size = (step.form == "whole") ? receive_whole(pull, count) : receive_strings(pull, count)
    abort "a message of #{size} bytes came, not of #{step.size}" unless size == step.size
  end

  def receive_strings(pull, count)
    size = nil
    while count > 0
      size = receive_one(pull)
      count -= 1
    end
    size
  end

  def receive_whole(pull, count)
    # kept: Java collects what a method will not look at again
    @message = FFI::MemoryPointer.new(MESSAGE_SIZE)
    check zmq_msg_init(@message)
    address = @message.address
    socket = pull.address
    string = nil
    while count > 0
      while (size = receive_message(address, socket, DONTWAIT)) < 0
        wait(pull, READABLE)
      end
      abort "a message of several frames came" unless more(address).zero?
      string = MEMORY.get_bytes(data(address) - 1, size)
      count -= 1
    end
    string.bytesize
  end

  def reply(count)
    rep = @sockets.last
    while count > 0
      send_one(rep, @buffer, receive_one(rep))
      count -= 1
    end
  end

  def round_trips(payload, stamps, count)
    req = @sockets.last
    index = 1
    while index <= count
      send_one(req, payload, payload.bytesize)
      receive_one(req)
      stamps[index] = Common.now
      index += 1
    end
  end
end

Runtimes.main(BareFFI, ARGV)
