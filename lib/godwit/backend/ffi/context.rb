# frozen_string_literal: true

module Godwit
  # The primitives of a context over FFI; the rest is in lib/godwit/context.rb.
  class Context
    @default_lock = Backend::FFI::Lock.new

    class << self
      private

      def _default
        @default if @default&.usable?
      end

      def _propose(candidate)
        @default_lock.synchronize { _default || (@default = candidate) }
      end
    end

    private

    def _open
      with_error_translation(:new) do
        @handle = Backend::FFI::ContextHandle.new
      rescue Backend::FFI::Failed => failed
        raise unless [Errno::EMFILE::Errno, Errno::ENFILE::Errno].include?(failed.what)
        Backend::FFI::Collector.run # as Ruby does for its files
        @handle = Backend::FFI::ContextHandle.new
      end
      ObjectSpace.define_finalizer(self, Backend::FFI::ProcessEnd.finalizer(@handle))
    end

    def opened(operation)
      raise Backend::FFI::Failed, ForkedError if @handle && !@handle.own?
      raise Backend::FFI::Failed, ClosedError if _closed?
      @handle
    rescue Backend::FFI::Failed => failed
      raise Backend::FFI::Failures.error(failed, operation, self, nil), cause: nil
    end

    def _get_option(id)
      handle = opened(:get)
      return handle.max_sockets if id == Backend::FFI::ContextHandle::MAX_SOCKETS
      with_error_translation(:get) do
        handle.use do |zmq|
          ::FFI.errno = 0 # -1 is a value too; of an unknown option libzmq says EINVAL
          value = Backend::FFI::Zmq.zmq_ctx_get(zmq, id)
          next value if value >= 0 || ::FFI.errno != Errno::EINVAL::Errno
          raise Backend::FFI::Failed, Errno::EINVAL::Errno
        end
      end
    end

    def with_error_translation(operation, &block)
      Backend::FFI::Failures.with_error_translation(operation, self, &block)
    end

    def _set_option(id, value)
      handle = opened(:set)
      with_error_translation(:set) do
        next set_bytes(handle, id, value) if value.is_a?(String)
        raise Backend::FFI::Failed, Errno::EINVAL::Errno unless value.is_a?(Integer)
        next handle.max_sockets = value if id == Backend::FFI::ContextHandle::MAX_SOCKETS
        handle.use do |zmq|
          if Backend::FFI::Zmq.zmq_ctx_set(zmq, id, value) != 0
            raise Backend::FFI::Failed, ::FFI.errno
          end
        end
      end
      nil
    end

    def set_bytes(handle, id, value)
      unless Backend::FFI::Drafts.found?(:zmq_ctx_set_ext)
        raise Backend::FFI::Failed, Errno::EINVAL::Errno
      end
      if Backend::FFI::Drafts.zmq_ctx_set_ext(handle.zmq, id, value, value.bytesize) != 0
        raise Backend::FFI::Failed, ::FFI.errno
      end
    end

    def _linger = opened(:linger).linger

    # @param at_exit [Integer, nil] ms of a linger without limit at the end of the process; nil: as
    #   it is
    def _set_linger(milliseconds, at_exit = nil)
      handle = opened(:linger=)
      handle.exit_linger = at_exit if at_exit
      handle.linger = milliseconds
    end

    def _shutdown
      return if @handle&.closed? && @handle.own?
      handle = opened(:shutdown)
      Backend::FFI.keep_errno { handle.shutdown }
      nil
    end

    # Waiting is interruptible: libzmq goes on by itself.
    def _close
      return unless @handle
      Backend::FFI::Failures.raise_for(ForkedError, :close, self) unless @handle.own?
      Backend::FFI.keep_errno { @handle.close }
      linger = @handle.longest_linger
      @handle.join((linger < 0) ? nil : linger / 1000.0 + Backend::FFI::ProcessEnd::GRACE)
      nil
    end

    def _closed? = @handle.nil? || @handle.closed?

    def _own? = @handle.nil? || @handle.own?

    def _pointer = opened(:pointer).zmq.address
  end
end
