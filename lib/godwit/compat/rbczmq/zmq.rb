# frozen_string_literal: true

require "forwardable"
require "logger"
require "set"
require "socket"
require "godwit"
require_relative "interrupts"
require_relative "failures"
require_relative "compat_socket"

# rbczmq's module on top of Godwit. docs/rbczmq.md says what the module promises and how it differs
# from rbczmq. A method whose comment names no result returns nil.
module ZMQ
  # The release of rbczmq that has this API.
  VERSION = "1.8.1"

  # Raised for misuse: a wrong thread or state, an object that is gone, a call that the socket's
  # type does not have. For a failure of libzmq an Errno class is raised.
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
