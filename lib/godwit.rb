# frozen_string_literal: true

require_relative "godwit/version"
require_relative "godwit/generated/header"
require_relative "godwit/generated/constants"
require_relative "godwit/errors"
require_relative "godwit/error_hints"
require_relative "godwit/options"
require_relative "godwit/constructors"
require_relative "godwit/backend"
require_relative "godwit/endpoint"
require_relative "godwit/timeout"
require_relative "godwit/worker"
require_relative "godwit/curve"
require_relative "godwit/z85"
require_relative "godwit/context"
require_relative "godwit/frame"
require_relative "godwit/message"
require_relative "godwit/tracker"
require_relative "godwit/monitor"
require_relative "godwit/socket"
require_relative "godwit/socket_types"
require_relative "godwit/poller"
require_relative "godwit/proxy"
require_relative "godwit/timers"
require_relative "godwit/loop"

# Native ZeroMQ for Ruby: sockets that carry whole messages between threads, processes and machines.
# @see https://zguide.zeromq.org The ZeroMQ Guide
module Godwit
  # Parts that are loaded at their first use.
  autoload :Auth, "godwit/auth"
  autoload :Beacon, "godwit/beacon"
  autoload :Cert, "godwit/cert"
  autoload :CertStore, "godwit/cert_store"
  autoload :LogDevice, "godwit/log_device"
  autoload :Logger, "godwit/logger"
  autoload :Perf, "godwit/perf"
  autoload :Shell, "godwit/shell"
  autoload :TTCP, "godwit/ttcp"

  module_function

  # Whether the running libzmq has a feature: `:curve`, `:ipc`, `:draft`, `:ws`, `:pgm`, `:gssapi`…
  # @param feature [Symbol, String]
  # @return [Boolean]
  # @see http://api.zeromq.org/4-3:zmq-has zmq_has(3)
  def has?(feature)
    name = feature.to_s.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    return false if name.include?("\0")
    # libzmq has "WS" and "WSS" in capitals, all others in lower case
    Backend::IMPLEMENTATION.has(name) || Backend::IMPLEMENTATION.has(name.upcase)
  end

  # @return [String] version of the running libzmq, such as "4.3.4"
  def libzmq_version = Backend::IMPLEMENTATION.libzmq_version.join(".")
  # The process's default context, for sockets that are given none. It is made at the first call,
  # and anew in a forked child or after it was closed. It is closed at exit (see {Context}).
  # @return [Context]
  def context = Context.default
end
