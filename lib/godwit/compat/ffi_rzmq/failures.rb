# frozen_string_literal: true

module Godwit
  module Compat
    # The parts of ffi-rzmq's layer that are no part of `ZMQ` and `LibZMQ`.
    # @private
    module FFIRzmq
      # Each thread has its last errno, as in libc.
      # @private
      module Failures
        LAST = :godwit_ffi_rzmq_errno

        # The words for libzmq's own errnos, one that libzmq words itself, and 0 (for JRuby).
        WORDS = {
          0 => "Success", Errno::EHOSTUNREACH::Errno => "Host unreachable",
          156_384_763 => "Operation cannot be accomplished in current state",
          156_384_764 => "The protocol is not compatible with the socket type",
          156_384_765 => "Context was terminated", 156_384_766 => "No thread available"
        }.freeze

        module_function

        # @return [Integer] 0 before the first failure
        def last = Thread.current.thread_variable_get(LAST) || 0

        # @return [Integer] -1
        def note(errno)
          Thread.current.thread_variable_set(LAST, errno)
          -1
        end

        # @return [Integer] libzmq's errno for it
        def errno_of(error)
          case error
          when TimeoutError, WouldBlock then Errno::EAGAIN::Errno
          when ForkedError then Errno::ENOTSOCK::Errno
          when GoneError then Errno::EFAULT::Errno
          else error.errno || Errno::EINVAL::Errno
          end
        end

        # @return [String]
        def words(errno) = WORDS[errno] || Errors.words(errno)
      end
    end
  end
end
