# frozen_string_literal: true

begin
  require "ffi"
rescue LoadError => error
  raise error unless error.path == "ffi"
  raise LoadError, "Godwit's FFI backend needs the gem ffi: gem install ffi (JRuby and TruffleRuby have it)", cause: nil
end
require "fcntl"
require "io/wait"

module Godwit
  module Backend
    # libzmq through the gem ffi. No call into libzmq waits; each is made with its socket's lock held (Lock), each wait without it (Line).
    # @private
    module FFI
      NAME = :ffi

      # What libzmq's header says, apart from the options, which are in the generated tables.
      DONTWAIT = 1
      SNDMORE = 2
      READABLE = 1
      WRITABLE = 2
      PUB = 1
      SUB = 2
      REQ = 3
      REP = 4
      DEALER = 5
      PULL = 7
      PUSH = 8
      XPUB = 9
      PAIR = 0
      STREAM = 11
      EFSM = 156_384_763
      ETERM = 156_384_765
      EAGAIN = Errno::EAGAIN::Errno
      EINTR = Errno::EINTR::Errno
      ENOTSUP = Errno::EOPNOTSUPP::Errno

      # A try that would have blocked.
      AGAIN = Object.new.freeze
    end
  end
end

require_relative "ffi/library"
require_relative "ffi/libc"
require_relative "ffi/failures"
require_relative "ffi/lock"
require_relative "ffi/line"
require_relative "ffi/process_end"
require_relative "ffi/context_handle"
require_relative "ffi/context"
require_relative "ffi/option_kinds"
require_relative "ffi/frame"
require_relative "ffi/socket_handle"
require_relative "ffi/lending"
require_relative "ffi/sender"
require_relative "ffi/receiver"
require_relative "ffi/event_feed"
require_relative "ffi/peer_count"
require_relative "ffi/socket"
require_relative "ffi/messages"
require_relative "ffi/monitor"
require_relative "ffi/poller_handle"
require_relative "ffi/poller"
require_relative "ffi/proxy_way"
require_relative "ffi/proxy_handle"
require_relative "ffi/proxy"
require_relative "ffi/missing"
