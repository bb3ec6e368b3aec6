# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # What a poller asks of its sockets and IOs.
    module PollerPrimitives
      # The bits of poll(2) that IO.select takes for readable, for writable, for an error.
      POLLED = {readable: 0x39, writable: 0x2c, faulty: 0x28}.freeze
      FAULTY = Header::POLLERR
      private_constant :POLLED, :FAULTY

      private

      def ask_socket(member)
        socket = Backend::FFI.handle_of(member.object)
        raise closed(member.object) if socket.closed?
        return 0 if socket.in_proxy? # its proxy alone may ask it; given back it is due again
        socket.use do
          member.watch.attach(socket.fd) if member.watch.fd < 0 # Watch#move failed
          socket.events & member.watch.events # a PUB is never registered for reading
        end
      rescue Failed => error
        return 0 if socket.in_proxy? # a proxy took it just now
        raise closed(member.object) if error.what == ClosedError && error.detail.nil?
        raise Failed.new(error.what, error.detail, object: error.object || member.object)
      end

      # As IO.select: the end of a stream is readable, and so are bytes in Ruby's own buffer.
      def ask_io(member)
        io = open_io(member)
        wanted = member.watch.events
        asked = (wanted.anybits?(READABLE) ? 1 : 0) | (wanted.anybits?(WRITABLE) ? 4 : 0)
        seen = LibC.look(io.fileno, asked)
        ready = 0
        ready |= READABLE if seen.anybits?(POLLED[:readable]) ||
          (wanted.anybits?(READABLE) && IO.select([io], nil, nil, 0))
        ready |= WRITABLE if seen.anybits?(POLLED[:writable])
        ready &= wanted
        seen.anybits?(POLLED[:faulty]) ? ready | FAULTY : ready
      rescue IOError, Errno::EBADF # the latter on JRuby, where another thread closes it just now
        raise closed(member.object)
      end

      # @raise [Failed]
      def open_io(member)
        raise closed(member.object) if member.io.closed?
        member.io
      end

      def closed(object)
        Failed.new(ClosedError,
          "#{object.inspect} was closed while it was registered: remove it from the poller")
      end

      # @return [Integer] the IO's descriptor for these events
      # @raise [Failed] when it was not opened for them
      def descriptor_for(object, io, events)
        name = object.inspect
        if io.closed?
          raise Failed.new(ClosedError, "#{name} is closed: register it while it is open")
        end
        mode = LibC.flags(io.fileno) & Fcntl::O_ACCMODE
        if mode == Fcntl::O_WRONLY && events.anybits?(READABLE)
          raise Failed.new(UnsupportedError, "#{name} is not open for reading")
        end
        if mode == Fcntl::O_RDONLY && events.anybits?(WRITABLE)
          raise Failed.new(UnsupportedError, "#{name} is not open for writing, or has a second " \
            "descriptor for it, which the FFI backend cannot see")
        end
        io.fileno
      end

      def attach(watch, fd, object)
        watch.attach(fd)
        true
      rescue Failed => error
        raise unless error.what == Errno::EEXIST::Errno
        raise Failed.new(PollerError, "another IO over the descriptor of #{object.inspect} is " \
          "registered: remove that one first")
      end

      # Takes it out of the socket and of the epoll. A closed IO's number may be another's by now.
      def leave(member)
        watch = member.watch
        if member.io
          return watch.retire(in_epoll: !member.io.closed? && member.io.fileno == watch.fd)
        end
        socket = Backend::FFI.handle_of(member.object)
        socket.locked do
          watch.retire
          socket.unwatch(watch)
        end
      end
    end
  end
end
