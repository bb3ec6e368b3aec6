# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The primitives of a proxy.
    module ProxyPrimitives
      include Failures

      private

      def handle!
        @handle or raise Failed, ClosedError
      end

      def _open(*sockets)
        raise "this proxy is open already" if @handle
        with_error_translation(:proxy) do
          handles = sockets.map do |socket|
            next unless socket
            handle = Backend::FFI.handle_of(socket) or raise Failed.new(ClosedError, object: socket)
            handle.lock.synchronize { handle.check }
            handle
          end
          @handle = ProxyHandle.new(handles)
        end
        self
      end

      def _observe(observer)
        with_error_translation(:proxy) do
          raise Failed, BusyError if handle!.running?
          @handle.observer = observer
        end
        self
      end

      # A limit in bytes has no effect: only high-water marks bound the queues (docs/runtimes.md).
      def _bound(_bytes) = self

      def _acquire = with_error_translation(:proxy) { handle!.acquire }

      def _release
        @handle&.release_from_proxy
        nil
      end

      # Runs until the proxy is stopped. Raises when one of its sockets or their context is closed,
      # and when this thread is interrupted.
      def _loop
        with_error_translation(:proxy) { handle!.run }
        nil
      end

      # The command :stop does nothing to a proxy that does not run.
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

      def _forked? = false

      def _waiters = @handle&.asleep? ? 1 : 0

      def _counters = with_error_translation(:statistics) { handle!.counters }
    end
  end
end
