# frozen_string_literal: true

require "rbconfig" # JRuby without RubyGems has not loaded rbconfig

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
    # The backend that calls libzmq through the gem ffi, for JRuby. No call of libzmq waits. The
    # calling thread holds the socket's lock (Lock), and releases it to wait (Waiter).
    # @private
    module FFI
      NAME = :ffi
      STATIC_LIBZMQ = false # the FFI backend loads the system's libzmq

      # Defines the constants of zmq.h under the same names, such as POLLIN.
      Header.constants.each { |name| const_set(name, Header.const_get(name)) }
      READABLE = POLLIN
      WRITABLE = POLLOUT
      EAGAIN = Errno::EAGAIN::Errno
      EINTR = Errno::EINTR::Errno
      EHOSTUNREACH = Errno::EHOSTUNREACH::Errno
      ENOTSUP = Errno::EOPNOTSUPP::Errno

      # The result of a send or receive that would block.
      AGAIN = Object.new.freeze

      def self.libzmq_version = Zmq.loaded_version

      # The FFI backend has no drafts (docs/runtimes.md).
      def self.has(feature) = feature != "draft" && Zmq.zmq_has(feature) == 1

      def self.draft? = false

      def self.connection(number) = LibC.connection(number)

      # Returns public and secret key as Z85; nil without CURVE. `secret_key` is nil for a new pair.
      def self.curve_keypair(secret_key)
        keys = Array.new(2) { ::FFI::MemoryPointer.new(41) }
        return keys.map(&:read_string) if secret_key.nil? && Zmq.zmq_curve_keypair(*keys).zero?
        if secret_key && Zmq.zmq_curve_public(keys.first, secret_key).zero?
          [keys.first.read_string, secret_key]
        end
      end

      def self.handle_of(object) = object.instance_variable_get(:@handle)

      # Refuses `dup` and `clone`. Ruby has copied the finalizer and the handle, so this method
      # first removes both from the copy.
      module NoCopy
        private

        def initialize_copy(original)
          ObjectSpace.undefine_finalizer(self)
          @handle = @queue = nil
          super
        end
      end
    end
  end
end

%w[
  library libc failures lock clock waiter process_end context_handle context frame
  socket/raw_socket socket/waiting socket/slow_wait socket/monitor socket/sender socket/receiver
  socket/handle socket takeover monitor poll_set poller proxy/direction proxy/handle proxy
].each { |file| require_relative "ffi/#{file}" }

module Godwit
  # Makes the classes of the public API with their primitives, as the extension does.
  {
    Context: Backend::FFI::ContextPrimitives, Socket: Backend::FFI::SocketPrimitives,
    Frame: Backend::FFI::FramePrimitives, Tracker: Backend::FFI::TrackerPrimitives,
    Monitor: Backend::FFI::MonitorPrimitives, Poller: Backend::FFI::PollerPrimitives,
    Proxy: Backend::FFI::ProxyPrimitives
  }.each { |name, primitives| const_set(name, Class.new { include primitives }) }
  Context.extend(Backend::FFI::DefaultContext)
  [Context, Socket, Monitor].each { |klass| klass.prepend(Backend::FFI::NoCopy) }
end
