# frozen_string_literal: true

module Godwit
  # Doors for programs written for other libraries.
  # @private
  module Compat
    # What ffi-rzmq's door needs besides `ZMQ` and `LibZMQ`.
    # @private
    module FFIRzmq
      # Makes errnos of Godwit's errors. As libc's, the last one is kept for each thread, and stands
      # until the next.
      # @private
      module Failures
        LAST = :godwit_ffi_rzmq_errno

        # libzmq's own, which the C library has no words for, and one that libzmq words itself; and
        # that of no error, which JRuby does not know.
        WORDS = {
          0 => "Success", Errno::EHOSTUNREACH::Errno => "Host unreachable",
          156_384_763 => "Operation cannot be accomplished in current state",
          156_384_764 => "The protocol is not compatible with the socket type",
          156_384_765 => "Context was terminated", 156_384_766 => "No thread available"
        }.freeze

        module_function

        # @return [Integer] this thread's last errno; 0 before the first
        def last = Thread.current.thread_variable_get(LAST) || 0

        # @return [Integer] -1
        def note(errno)
          Thread.current.thread_variable_set(LAST, errno)
          -1
        end

        # @param error [Godwit::Error]
        # @return [Integer] what libzmq would have said
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
