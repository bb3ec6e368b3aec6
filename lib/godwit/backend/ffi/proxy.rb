# frozen_string_literal: true

module Godwit
  # The primitives of a proxy over FFI; the rest is in lib/godwit/proxy.rb.
  class Proxy
    private

    def with_error_translation(operation, &block)
      Backend::FFI::Failures.with_error_translation(operation, self, &block)
    end

    def handle!
      raise Backend::FFI::Failed, ClosedError unless @handle
      raise Backend::FFI::Failed, ForkedError if @handle.forked?
      @handle
    end

    def _open(*sockets)
      raise "this proxy is open already" if @handle
      with_error_translation(:proxy) do
        places = sockets.map do |socket|
          next unless socket
          handle = Socket::FFIPrimitives.handle_of(socket)
          raise Backend::FFI::Failed.new(ClosedError, object: socket) unless handle
          handle.locked { handle.check }
          handle
        end
        @handle = Backend::FFI::ProxyHandle.new(places)
      end
      ObjectSpace.define_finalizer(self, Backend::FFI::ProcessEnd.finalizer(@handle))
      self
    end

    # What it takes from now on is told there; not while it runs.
    # @param observer [#record] gets the frames of each message
    def _observe(observer)
      with_error_translation(:proxy) do
        raise Backend::FFI::Failed, BusyError if handle!.running?
        @handle.observer = observer
      end
      self
    end

    # In Ruby no account of the bytes in libzmq's queues is kept: high-water marks alone bound them
    # (docs/runtimes.md).
    def _bound(_bytes) = self

    # False when it runs already.
    def _acquire = with_error_translation(:proxy) { handle!.acquire }

    def _release
      @handle&.release_from_proxy
      nil
    end

    # Until it is stopped; raises when one of its sockets or their context is closed, or this thread
    # is interrupted.
    def _loop
      with_error_translation(:proxy) { handle!.run }
      nil
    end

    # To stop a proxy that does not run does nothing.
    def _control(command)
      with_error_translation(command) do
        handle = handle!
        next (handle.stop if handle.running?) if command == :stop
        handle.paused = command == :pause
        handle.wake
      end
      nil
    end

    def _paused? = with_error_translation(:paused?) { handle!.paused }

    def _running? = !@handle.nil? && @handle.running?

    def _forked? = !@handle.nil? && @handle.forked?

    def _waiters = @handle&.asleep? ? 1 : 0

    def _counters = with_error_translation(:statistics) { handle!.counters }
  end
end
