# frozen_string_literal: true

module Godwit
  module Shell
    # The methods that ext/godwit/shell_rows.c defines for the native backend, except `split_rows`.
    # @private
    module Primitives
      extend ::FFI::Library
      extend self

      ffi_lib ::FFI::Library::LIBC

      P_PID = 1
      WNOHANG_WEXITED_WNOWAIT = 1 | 4 | 0x01000000
      SYS_PIDFD_OPEN = 434 # the number on every processor but Alpha
      SIGINFO_SIZE = 128
      PIPE_BYTES = 65_536 # most bytes of a read: the capacity of a pipe

      attach_function :waitid, %i[int uint buffer_out int], :int
      attach_function :syscall, %i[long varargs], :long

      # Drops the buffer's bytes before the offset `from`, and reads once from the IO.
      # @return [Integer, nil] bytes read; 0 at the end; nil: no byte is readable now
      def append_bytes(io, buffer, from)
        buffer.replace(buffer.byteslice(from..)) if from > 0
        # An interrupt would lose the bytes that were read, and the caller's offset would be wrong.
        got = Thread.handle_interrupt(Object => :never) do
          io.read_nonblock(PIPE_BYTES, exception: false)
        end
        return if got == :wait_readable
        buffer << got if got
        got ? got.bytesize : 0
      rescue Errno::EIO # a terminal reports its end by this error
        0
      end

      # @return [Boolean, nil] whether a child has ended and was not reaped; nil: no such child
      def exited?(pid)
        info = ::FFI::MemoryPointer.new(SIGINFO_SIZE)
        loop do
          code = Primitives.waitid(P_PID, pid, info, WNOHANG_WEXITED_WNOWAIT)
          return info.read_int != 0 if code == 0 # si_signo is 0 while the child runs
          return if ::FFI.errno != Errno::EINTR::Errno
        end
      end

      # @return [Integer, nil] a descriptor of the process; nil: the kernel has no pidfds
      def pidfd(pid)
        number = Primitives.syscall(SYS_PIDFD_OPEN, :int, pid, :uint, 0)
        (number < 0) ? nil : number
      end
    end
    private_constant :Primitives
  end
end
