# frozen_string_literal: true

module Godwit
  class Poller
    # What a poller asks of its sockets and IOs.

    private

    def ask_socket(member)
      socket = Socket::FFIPrimitives.handle_of(member.object)
      raise closed(member.object) if socket.closed?
      return 0 if socket.in_proxy? # its proxy alone may ask it; given back it is due again
      socket.use do
        member.watch.attach(socket.fd) if member.watch.fd < 0 # it was made anew, and that failed
        events = socket.events
        socket.settle # those who wait on it elsewhere
        events & member.watch.events # a PUB is never registered for reading
      end
    rescue Backend::FFI::Failed => error
      return 0 if socket.in_proxy? # a proxy took it just now
      raise closed(member.object) if error.what == ClosedError && error.detail.nil?
      raise Backend::FFI::Failed.new(
        error.what, error.detail, object: error.object || member.object
      )
    end

    # As IO.select sees it: the end of a stream is readable, and so is what Ruby has in its own
    # buffer.
    def ask_io(member)
      io = member.io
      raise closed(member.object) if io.closed?
      wanted = member.watch.events
      seen =
        Backend::FFI::LibC.look(
          io.fileno,
          (wanted.anybits?(Backend::FFI::READABLE) ? 1 : 0) |
            (wanted.anybits?(Backend::FFI::WRITABLE) ? 4 : 0)
        )
      ready = 0
      ready |= Backend::FFI::READABLE if seen.anybits?(POLLED[:readable]) ||
        (wanted.anybits?(Backend::FFI::READABLE) && IO.select([io], nil, nil, 0))
      ready |= Backend::FFI::WRITABLE if seen.anybits?(POLLED[:writable])
      ready &= wanted
      seen.anybits?(POLLED[:faulty]) ? ready | FAULTY : ready
    rescue IOError, Errno::EBADF # the latter on JRuby, where another thread closes it just now
      raise closed(member.object)
    end

    def closed(object)
      failed(
        ClosedError,
        "#{object.inspect} was closed while it was registered: remove it from the poller"
      )
    end

    # The IO's descriptor for these events; refuses what it was not opened for.
    def descriptor_for(object, io, events)
      if io.closed?
        raise failed(ClosedError, "#{object.inspect} is closed: register it while it is open")
      end
      mode = Backend::FFI::LibC.flags(io.fileno) & Fcntl::O_ACCMODE
      if mode == Fcntl::O_RDONLY && events.anybits?(Backend::FFI::WRITABLE)
        unless two_descriptors?(io)
          raise failed(UnsupportedError, "#{object.inspect} is not open for writing")
        end
        if events.anybits?(Backend::FFI::READABLE)
          raise failed(
            PollerError,
            "#{object.inspect} has one descriptor to read and another to write: register " \
            "it for one of them"
          )
        end
        raise failed(
          UnsupportedError,
          "#{object.inspect} has another descriptor to write, which the FFI backend cannot " \
          "see"
        )
      end
      if mode == Fcntl::O_WRONLY && events.anybits?(Backend::FFI::READABLE)
        raise failed(UnsupportedError, "#{object.inspect} is not open for reading")
      end
      io.fileno
    end

    def two_descriptors?(io)
      io.write_nonblock("") # nothing is written
      true
    rescue IOError, SystemCallError
      false
    end

    def attach(watch, fd, object)
      watch.attach(fd)
      true
    rescue Backend::FFI::Failed => error
      raise unless error.what == Errno::EEXIST::Errno
      raise failed(
        PollerError,
        "another IO over the descriptor of #{object.inspect} is registered: remove that " \
        "one first"
      )
    end

    # Its place in the socket, and in the epoll: a closed IO's number may be another's by now.
    def leave(member)
      watch = member.watch
      return watch.retire(in_epoll: !member.io.closed? && member.io.fileno == watch.fd) if member.io
      socket = Socket::FFIPrimitives.handle_of(member.object)
      socket.locked do
        watch.retire
        socket.unwatch(watch)
      end
    end
  end
end
