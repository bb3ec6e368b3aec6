# frozen_string_literal: true

module Godwit
  module Shell
    # The two questions about a child process that Ruby has no method for.
    # @private
    module Children
      extend ::FFI::Library
      extend self

      ffi_lib ::FFI::Library::LIBC

      P_PID = 1
      WNOHANG_WEXITED_WNOWAIT = 1 | 4 | 0x01000000
      SYS_PIDFD_OPEN = 434 # on every processor but Alpha
      SIGINFO_SIZE = 128

      attach_function :waitid, %i[int uint buffer_out int], :int
      attach_function :syscall, %i[long varargs], :long

      # True: it ended, and nobody has taken its status; false: it runs; nil: it is no child of
      # ours, or no longer.
      def exited?(pid)
        Backend::FFI.keep_errno do
          info = ::FFI::MemoryPointer.new(SIGINFO_SIZE)
          code = Children.waitid(P_PID, pid, info, WNOHANG_WEXITED_WNOWAIT) until code == 0 ||
              (code && ::FFI.errno != Errno::EINTR::Errno)
          (code == 0) ? info.read_int != 0 : nil # the signal's number: 0 for none
        end
      end

      # A descriptor that is readable once the process has ended; nil where the kernel has none.
      def pidfd(pid)
        Backend::FFI.keep_errno do
          number = Children.syscall(SYS_PIDFD_OPEN, :int, pid, :uint, 0)
          (number < 0) ? nil : number
        end
      end
    end
    private_constant :Children
  end
end
