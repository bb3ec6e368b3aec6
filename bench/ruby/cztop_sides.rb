# frozen_string_literal: true

require "cztop"
require_relative "queue_loops"

# CZTop's sockets, as together.rb and apart.rb call them.
module Sides
  extend QueueLoops

  module_function

  def bind(type, endpoint) = CZTop::Socket.const_get(type).bind(endpoint)

  def connect(type, endpoint) = CZTop::Socket.const_get(type).connect(endpoint)

  def endpoint(socket) = socket.last_endpoint

  def close(socket) = socket.close
end
