# frozen_string_literal: true

require "omq"
require_relative "queue_loops"

# OMQ's sockets, as together.rb and apart.rb call them.
module Sides
  extend QueueLoops

  module_function

  def bind(type, endpoint)
    socket = OMQ.const_get(type).new
    @endpoint = socket.bind(endpoint.sub(/\*\z/, "0")).to_s
    socket
  end

  def connect(type, endpoint) = OMQ.const_get(type).connect(endpoint)

  def endpoint(_) = @endpoint

  def close(socket) = socket.close
end
