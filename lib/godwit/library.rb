# frozen_string_literal: true

module Godwit
  # Whether the running libzmq has a feature: `:curve`, `:ipc`, `:draft`, `:ws`, `:pgm`, `:gssapi`…
  # @param feature [Symbol, String]
  # @return [Boolean]
  # @see http://api.zeromq.org/4-3:zmq-has zmq_has(3)
  def self.has?(feature)
    name = Runtime.utf8(feature.to_s)
    return false if name.include?("\0")
    # libzmq names the features "WS" and "WSS" in capitals, all others in lower case.
    Backend::IMPLEMENTATION.has(name) || Backend::IMPLEMENTATION.has(name.upcase)
  end

  # @return [String] version of the running libzmq, such as "4.3.4"
  def self.libzmq_version = Backend::IMPLEMENTATION.libzmq_version.join(".")
  # The process's default context, for sockets that are made without a context. The first call makes
  # it, as does the first in a forked child or after a close. It is closed at exit (see {Context}).
  # @return [Context]
  def self.context = Context.default
end
