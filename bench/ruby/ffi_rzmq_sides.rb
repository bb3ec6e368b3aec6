# frozen_string_literal: true

require_relative "ffi_rzmq"

# ffi-rzmq's loops, as together.rb calls them.
module Sides
  CONTEXT = ZMQ::Context.new

  module_function

  def bind(type, endpoint)
    socket, @endpoint = FFIRzmq.bind(CONTEXT, ZMQ.const_get(type), endpoint)
    socket
  end

  def connect(type, endpoint) = FFIRzmq.connect(CONTEXT, ZMQ.const_get(type), endpoint)

  def endpoint(_) = @endpoint

  def push(...) = FFIRzmq.push(...)

  def pull(...) = FFIRzmq.pull(...)

  def rep(...) = FFIRzmq.rep(...)

  def req(...) = FFIRzmq.req(...)

  def close(socket) = socket.close
end
