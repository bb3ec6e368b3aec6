# frozen_string_literal: true

# The order matters: each file needs the files before it.
%w[
  version runtime printable generated/header generated/constants errors generated/errors
  error_hints formats error_reply options options/values generated/options options/accessors
  options/wire constructors timeout backend library endpoint weak_set registry worker curve z85
  context frame message tracker monitor socket/endpoints socket/settings socket/messages
  socket/request socket/serve socket/authentication socket/drafts socket/counts socket/encodings
  socket/formatted socket/frames socket/monitoring socket/peers diagnosis warnings
  socket/time_outs socket/unknown_methods compat/suggestion socket/hooks socket socket_types
  draft_types poller proxy timers loop forking
].each { |file| require_relative "godwit/#{file}" }

# Native ZeroMQ for Ruby: sockets that carry whole messages between threads, processes and machines.
# @see https://zguide.zeromq.org The ZeroMQ Guide
module Godwit
  # Constants whose files are loaded at their first use.
  autoload :Auth, "godwit/auth"
  autoload :Beacon, "godwit/beacon"
  autoload :Cert, "godwit/cert"
  autoload :CertStore, "godwit/cert_store"
  autoload :LazySocket, "godwit/lazy_socket"
  autoload :LogDevice, "godwit/log_device"
  autoload :Logger, "godwit/logger"
  autoload :Metrics, "godwit/metrics"
  autoload :Perf, "godwit/perf"
  autoload :Pool, "godwit/pool"
  autoload :Shell, "godwit/shell"
  autoload :TTCP, "godwit/ttcp"
end
