# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The primitives that are class methods of Context: they keep the process's default context.
    module DefaultContext
      LOCK = Lock.new("default context")

      private

      def _default
        @default if @default&.usable?
      end

      def _propose(candidate)
        LOCK.synchronize { _default || (@default = candidate) }
      end
    end

    # The primitives of a context.
    module ContextPrimitives
      include Failures

      # @private
      def opened(operation)
        raise_failed(ClosedError, operation) if _closed?
        @handle
      end

      private

      def _open
        with_error_translation(:new) { @handle = ContextHandle.new }
        ObjectSpace.define_finalizer(self, ProcessEnd.finalizer(@handle))
      end

      def _get_option(id)
        handle = opened(:get)
        return handle.max_sockets if id == ContextHandle::MAX_SOCKETS
        with_error_translation(:get) do
          handle.use do |zmq|
            # An option may have the value -1, so only EINVAL tells that libzmq has no such option.
            ::FFI.errno = 0
            value = Zmq.zmq_ctx_get(zmq, id)
            next value if value >= 0 || ::FFI.errno != Errno::EINVAL::Errno
            raise Failed, Errno::EINVAL::Errno
          end
        end
      end

      def _set_option(id, value)
        handle = opened(:set)
        with_error_translation(:set) do
          raise Failed, Errno::EINVAL::Errno unless value.is_a?(Integer)
          next handle.max_sockets = value if id == ContextHandle::MAX_SOCKETS
          handle.use do |zmq|
            raise Failed, ::FFI.errno if Zmq.zmq_ctx_set(zmq, id, value) != 0
          end
        end
        nil
      end

      def _linger = opened(:linger).linger

      # @param at_exit [Integer, nil] ms that exit waits for a linger without limit; nil: unchanged
      def _set_linger(milliseconds, at_exit = nil)
        handle = opened(:linger=)
        handle.exit_linger = at_exit if at_exit
        handle.linger = milliseconds
      end

      def _shutdown
        return if @handle&.closed?
        handle = opened(:shutdown)
        with_error_translation(:shutdown) { handle.shutdown }
        nil
      end

      # An interrupt may end the wait for linger; libzmq terminates the context all the same.
      def _close
        return unless @handle
        with_error_translation(:close) { @handle.close }
        linger = @handle.longest_linger
        @handle.join((linger < 0) ? nil : linger / 1000.0 + ProcessEnd::GRACE)
        nil
      end

      def _closed? = @handle.nil? || @handle.closed?

      def _own? = @handle.nil? || @handle.own?

      def _pointer = opened(:pointer).zmq.address
    end
  end
end
