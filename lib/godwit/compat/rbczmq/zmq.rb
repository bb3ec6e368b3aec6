# frozen_string_literal: true

require "forwardable"
require "logger"
require "set"
require "socket"
require "godwit"

# rbczmq's module, on top of Godwit. What it promises, and where it differs: docs/rbczmq.md.
# @private
module ZMQ
  # The release of rbczmq that this stands in for.
  VERSION = "1.8.1"

  # Misuse: of a thread, a state, what is gone, what a type does not have. What libzmq refuses is an
  # Errno class.
  class Error < StandardError; end

  POLLIN = 1
  POLLOUT = 2
  POLLERR = 4

  Godwit::SOCKET_TYPES.first(12).each { |name, number| const_set(name, number) }

  EFSM = 156_384_763
  ENOCOMPATPROTO = 156_384_764
  ETERM = 156_384_765
  EMTHREAD = 156_384_766

  EVENT_CONNECTED = 0x1
  EVENT_CONNECT_DELAYED = 0x2
  EVENT_CONNECT_RETRIED = 0x4
  EVENT_LISTENING = 0x8
  EVENT_BIND_FAILED = 0x10
  EVENT_ACCEPTED = 0x20
  EVENT_ACCEPT_FAILED = 0x40
  EVENT_CLOSED = 0x80
  EVENT_CLOSE_FAILED = 0x100
  EVENT_DISCONNECTED = 0x200
  EVENT_ALL = 0x3ff
end

ENV["RBXOPT"] = "-Xrbc.db" # programs may look

require_relative "interrupts"
require_relative "failures"
require_relative "compat_socket"
require_relative "arguments"
require_relative "context"
require_relative "socket"
require_relative "frame"
require_relative "message"
require_relative "pollitem"
require_relative "poller"
require_relative "handler"
require_relative "default_handler"
require_relative "monitor"
require_relative "logger"
require_relative "timer"
require_relative "loop"
require_relative "beacon"
require_relative "functions"
