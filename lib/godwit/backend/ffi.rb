# frozen_string_literal: true

require "rbconfig" # JRuby without RubyGems has not loaded it

system = RbConfig::CONFIG["host_os"]
unless system.include?("linux")
  raise LoadError,
    "Godwit runs on Linux only for now, since it waits with eventfd and epoll: this " \
    "is #{system}"
end

begin
  require "ffi"
rescue LoadError => error
  raise error unless error.path == "ffi"
  raise LoadError,
    "Godwit's FFI backend needs the gem ffi: gem install ffi (JRuby and TruffleRuby have it)",
    cause: nil
end
require "fcntl"
require "io/wait"

module Godwit
  module Backend
    # libzmq through the gem ffi. No call into libzmq waits; each is made with its socket's lock
    # held (Lock), each wait without it (WaitQueue).
    # @private
    module FFI
      NAME = :ffi
      STATIC_LIBZMQ = false # it is the system's

      # zmq.h's names stand here as in C.
      Header.constants.each { |name| const_set(name, Header.const_get(name)) }
      READABLE = POLLIN
      WRITABLE = POLLOUT
      EAGAIN = Errno::EAGAIN::Errno
      EINTR = Errno::EINTR::Errno
      ENOTSUP = Errno::EOPNOTSUPP::Errno

      # Whether this Ruby has fiber schedulers. JRuby has none, and cannot fork.
      SCHEDULERS = Fiber.respond_to?(:current_scheduler)

      # A try that would have blocked.
      AGAIN = Object.new.freeze

      # @return [SocketHandle, FrameHandle, nil] of a Socket or a Frame
      def self.handle_of(object) = object.instance_variable_get(:@handle)

      # For calls that may run between another call of this thread and the look at its errno:
      # finalizers, and all that a trap handler may call.
      def self.keep_errno
        errno = ::FFI.errno
        yield
      ensure
        put_back(errno) if errno
      end

      if RUBY_ENGINE == "jruby"
        # Handlers and finalizers have threads of their own there.
        def self.put_back(_errno)
        end
      else
        # `FFI.errno=` sets libc's errno alone, and FFI's own is taken from that after each call: so
        # a call writes it.
        def self.put_back(errno)
          return if ::FFI.errno == errno
          LibC.memcpy(LibC.__errno_location, [errno].pack("i"), 4)
        end
      end
    end
  end
end

require_relative "ffi/library"
require_relative "ffi/libc"
require_relative "../fork_detector"
require_relative "ffi/failures"
require_relative "ffi/lock"
require_relative "ffi/collector"
require_relative "ffi/interruptible_poll" if RUBY_ENGINE == "jruby"
require_relative "ffi/wait_queue"
require_relative "ffi/process_end"
require_relative "ffi/context_handle"
require_relative "ffi/context"
require_relative "../generated/option_kinds"
require_relative "ffi/option_kinds"
require_relative "ffi/frame"
require_relative "ffi/socket_handle"
require_relative "ffi/transfer"
require_relative "ffi/sender"
require_relative "ffi/receiver"
require_relative "ffi/fast_path"
require_relative "ffi/monitor_pump"
require_relative "ffi/socket"
require_relative "ffi/messages"
require_relative "ffi/monitor"
require_relative "ffi/poller_handle"
require_relative "ffi/poller"
require_relative "ffi/poller_members"
require_relative "ffi/proxy_direction"
require_relative "ffi/proxy_handle"
require_relative "ffi/proxy"

module Godwit
  # Ruby copies finalizers and handles: both go before a copy is refused.
  no_copy = Module.new do
    private

    def initialize_copy(original)
      ObjectSpace.undefine_finalizer(self)
      @handle = @queue = nil
      super
    end
  end
  [Context, Socket, Monitor, Poller, Proxy].each { |klass| klass.prepend(no_copy) }
end
