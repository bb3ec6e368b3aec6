# frozen_string_literal: true

require_relative "godwit_loops"

# Godwit's loops, as together.rb calls them.
module Sides
  module_function

  def bind(type, endpoint) = Godwit.const_get(type).bind(endpoint)

  def connect(type, endpoint) = Godwit.const_get(type).connect(endpoint)

  def endpoint(socket) = socket.last_endpoint

  def push(...) = GodwitLoops.push(...)

  def pull(...) = GodwitLoops.pull(...)

  def rep(...) = GodwitLoops.rep(...)

  def req(...) = GodwitLoops.req(...)

  def close(socket) = socket.close
end
