# frozen_string_literal: true

require "forwardable"
require "logger"
require "set"
require "socket"
require "godwit"
require_relative "interrupts"
require_relative "failures"
require_relative "compat_socket"

# rbczmq's module on top of Godwit. docs/rbczmq.md says what it promises and where it differs. A
# method whose comment names no result returns nil.
module ZMQ
  # The release of rbczmq whose API this is.
  VERSION = "1.8.1"

  # Misuse: wrong thread or state, an object that is gone, a call that the type does not have. An
  # Errno class is raised for what libzmq refuses.
  class Error < StandardError; end

  Failures = Godwit::Compat::Rbczmq::Failures
  Arguments = Godwit::Compat::Rbczmq::Arguments
  Interrupts = Godwit::Compat::Rbczmq::Interrupts
  CompatSocket = Godwit::Compat::Rbczmq::CompatSocket
  private_constant :Failures, :Arguments, :Interrupts, :CompatSocket

  POLLIN = 1
  POLLOUT = 2
  POLLERR = 4

  Godwit::SOCKET_TYPES.first(12).each { |name, number| const_set(name, number) }

  EFSM = 156_384_763
  ENOCOMPATPROTO = 156_384_764
  ETERM = 156_384_765
  EMTHREAD = 156_384_766
end

ENV["RBXOPT"] = "-Xrbc.db" # rbczmq sets the variable, too

%w[
  context socket frame message pollitem poller monitor logger loop beacon functions
].each { |file| require_relative file }
