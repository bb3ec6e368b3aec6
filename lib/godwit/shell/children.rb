# frozen_string_literal: true

module Godwit
  module Shell
    # System calls through the gem ffi. The extension has the same methods.
    # @private
    module Children
      extend ::FFI::Library
      extend self

      ffi_lib ::FFI::Library::LIBC

      P_PID = 1
      WNOHANG_WEXITED_WNOWAIT = 1 | 4 | 0x01000000
      SYS_PIDFD_OPEN = 434 # the number on every processor but Alpha
      SIGINFO_SIZE = 128

      attach_function :waitid, %i[int uint buffer_out int], :int
      attach_function :syscall, %i[long varargs], :long

      def exited?(pid)
        info = ::FFI::MemoryPointer.new(SIGINFO_SIZE)
        loop do
          code = Children.waitid(P_PID, pid, info, WNOHANG_WEXITED_WNOWAIT)
          return info.read_int != 0 if code == 0 # si_signo is 0 while the child runs
          return if ::FFI.errno != Errno::EINTR::Errno
        end
      end

      def pidfd(pid)
        number = Children.syscall(SYS_PIDFD_OPEN, :int, pid, :uint, 0)
        (number < 0) ? nil : number
      end
    end
    private_constant :Children
  end
end
