# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The calls of Linux's libc that Ruby has no method for.
    module LibC
      extend ::FFI::Library

      ffi_lib ::FFI::Library::LIBC

      EPOLL_CTL_ADD = 1
      EDGES = 1 | 4 | 1 << 31 # EPOLLIN, EPOLLOUT, EPOLLET
      CLOEXEC = 0o2000000
      NONBLOCK = 0o4000
      IPPROTO_TCP = 6
      TCP_INFO = 11
      LONGEST = 1_000_000 # seconds that one poll waits at most
      # struct epoll_event is packed only on x86-64.
      EVENT = (::FFI::Platform::ARCH == "x86_64") ? "LQ" : "Lx4Q"

      {
        eventfd: %i[uint int], eventfd_read: %i[int buffer_out], eventfd_write: %i[int uint64],
        epoll_create1: %i[int], epoll_ctl: %i[int int int buffer_in],
        epoll_wait: %i[int buffer_out int int], poll: %i[pointer ulong int],
        getsockopt: %i[int int int buffer_out buffer_inout], fcntl: %i[int int varargs],
        getsockname: %i[int buffer_out buffer_inout],
        getpeername: %i[int buffer_out buffer_inout], close: %i[int]
      }.each { |name, arguments| attach_function name, arguments, :int }
      attach_function :wait_poll, :poll, %i[pointer ulong int], :int, blocking: true

      class << self
        def event_io = io_of(eventfd(0, CLOEXEC | NONBLOCK))

        # Makes an eventfd unreadable.
        def drain(io) = eventfd_read(io.fileno, ::FFI::MemoryPointer.new(8))

        # @return [IO] over a new epoll that remembers each read and write of a descriptor
        def edges_of(fd)
          io_of(epoll_create1(CLOEXEC)).tap do |epoll|
            code = epoll_ctl(epoll.fileno, EPOLL_CTL_ADD, fd, [EDGES, 0].pack(EVENT))
            raise Failed, ::FFI.errno if code != 0
          end
        end

        # @return [Boolean] whether the descriptor was read or written since the last call
        def edge?(epoll)
          epoll_wait(epoll.fileno, ::FFI::MemoryPointer.new(16), 1, 0) != 0
        end

        def poll_milliseconds(seconds) = seconds ? ([seconds, LONGEST].min * 1000).ceil : -1

        def poll_now(fd, events)
          entry = ::FFI::MemoryPointer.new(8).put_bytes(0, [fd, events, 0].pack("iss"))
          poll(entry, 1, 0)
          entry.get_int16(6)
        end

        def flags(fd)
          fcntl(fd, Fcntl::F_GETFL).tap { |flags| raise Failed, ::FFI.errno if flags < 0 }
        end

        # @return [Array, nil] own address, the peer's, and struct tcp_info or nil, as bytes; nil:
        #   the descriptor is no connected socket
        def connection(fd)
          other = bytes { |*room| getpeername(fd, *room) } or return
          own = bytes { |*room| getsockname(fd, *room) } or return
          [own, other, bytes { |*room| getsockopt(fd, IPPROTO_TCP, TCP_INFO, *room) }]
        end

        # Opens as many descriptors as libzmq needs, and closes them: without a free descriptor
        # libzmq would abort the process.
        def check_descriptors(needed)
          fds = []
          needed.times do
            fd = eventfd(0, CLOEXEC)
            raise Failed, ::FFI.errno if fd < 0
            fds << fd
          end
        ensure
          fds.each { |fd| close(fd) }
        end

        private

        # @yieldparam room [FFI::MemoryPointer] memory for the result; the next argument: its size
        def bytes
          room = ::FFI::MemoryPointer.new(256)
          size = ::FFI::MemoryPointer.new(:uint).write_uint(room.size)
          room.read_bytes(size.read_uint) if yield(room, size).zero?
        end

        def io_of(fd)
          raise Failed, ::FFI.errno if fd < 0
          IO.for_fd(fd)
        end
      end
    end
  end
end
