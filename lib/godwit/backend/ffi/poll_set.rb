# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The sockets and IOs of a Poller. A wait polls all of them, and enters the wait queue of each
    # socket only when none is ready. No thread acquires a socket's lock while it holds @lock.
    class PollSet
      # @!attribute io [IO, nil] nil for a socket
      Member = Struct.new(:object, :io, :events)

      # Seconds between two checks for IOs that another thread has closed: a close wakes no waiter.
      INTERVAL = Constants::IO_POLL_INTERVAL / 1000.0
      # The bits of poll(2) that IO.select reports as readable, as writable, as an error.
      READABLE_BITS = 0x39
      WRITABLE_BITS = 0x2c
      ERROR_BITS = 0x28
      POLLOUT_BIT = 4 # POLLOUT of <poll.h>; WRITABLE is ZMQ_POLLOUT

      attr_reader :waiters

      def initialize
        @lock = Lock.new("poller")
        @members = {}.compare_by_identity # object => Member
        @waiters = []
        @changes = 0
        @closed = false
      end

      def closed? = @closed

      # @return [Boolean] false when the object is registered already
      def add(object, io, events)
        check_socket(object) unless io
        check_io(object, io, events) if io
        locked do
          next false if @members[object]
          @members[object] = Member.new(object, io, events)
          changed
        end
      end

      def modify(object, events)
        member = locked { @members[object] } or return false
        check_io(object, open_io(member), events) if member.io
        locked do
          member.events = events
          changed
        end
      end

      def remove(object) = locked { @members.delete(object) ? changed : false }

      def members
        locked { @members.each_value.flat_map { |member| [member.object, member.events] } }
      end

      def close
        @lock.synchronize do
          @closed = true
          @members.clear
          changed
        end
      end

      def wait(deadline)
        if deadline.nil? && locked { @members.empty? }
          raise Failed.new(PollerError, "nothing is registered, so this would wait for ever: " \
            "register something, or give a timeout")
        end
        loop do
          members, changes = locked { [@members.values, @changes] }
          ready = members.flat_map do |member|
            bits = poll(member)
            bits.zero? ? [] : [member.object, bits]
          end
          return ready if ready.any? || Clock.passed?(deadline)
          pause(members, changes, deadline)
        end
      end

      private

      def locked
        @lock.synchronize do
          raise Failed, ClosedError if @closed
          yield
        end
      end

      def changed
        @changes += 1
        @waiters.each(&:wake)
        true
      end

      # Waits until a member may be ready, the members change, or the next check of IOs is due.
      def pause(members, changes, deadline)
        waiter = Waiter.claim(READABLE, polls: true)
        wanted = []
        return unless members.all? { |member| enqueue(waiter, member, wanted) }
        return unless locked { @waiters << waiter if @changes == changes }
        next_check = Runtime.now + INTERVAL if members.any?(&:io)
        waiter.pause(wanted, [deadline, next_check].compact.min)
      ensure
        unlink(waiter, members) if waiter
      end

      # Adds the waiter to a socket's wait queue, and the member's descriptor and poll bits to
      # `wanted`. Returns false when the member is ready or closed.
      def enqueue(waiter, member, wanted)
        if member.io
          return false if member.io.closed?
          wanted.push(member.io.fileno, poll_bits(member.events))
          return true
        end
        socket = Backend::FFI.handle_of(member.object)
        # While a proxy uses a socket, no Poller may poll it. `release_from_proxy` wakes the waiter.
        return socket.lock.synchronize { socket.waiting.add(waiter) } && true if socket.in_proxy?
        socket.use do
          next false if socket.raw.events.anybits?(member.events)
          socket.waiting.add(waiter)
          wanted.push(socket.raw.fd, POLLIN)
          true
        end
      rescue Failed, IOError
        false # the next poll raises the error
      end

      def unlink(waiter, members)
        members.each do |member|
          Backend::FFI.handle_of(member.object).waiting.remove(waiter) unless member.io
        end
        @lock.synchronize { @waiters.delete(waiter) }
        waiter.release
      end

      # @return [Integer] the member's events for which the member is ready now
      def poll(member) = member.io ? poll_io(member) : poll_socket(member)

      def poll_socket(member)
        socket = Backend::FFI.handle_of(member.object)
        raise closed(member.object) if socket.closed?
        return 0 if socket.in_proxy?
        socket.use { socket.raw.events & member.events } # a PUB is never registered for reading
      rescue Failed => error
        return 0 if error.what == BusyError # a proxy has acquired the socket just now
        raise closed(member.object) if error.what == ClosedError && error.detail.nil?
        raise Failed.new(error.what, error.detail, object: error.object || member.object)
      end

      # Polls an IO as IO.select does: the end of a stream is readable, and so are bytes in Ruby's
      # own buffer.
      def poll_io(member)
        io = open_io(member)
        wanted = member.events
        seen = LibC.poll_now(io.fileno, poll_bits(wanted))
        ready = 0
        ready |= READABLE if seen.anybits?(READABLE_BITS) ||
          (wanted.anybits?(READABLE) && IO.select([io], nil, nil, 0))
        ready |= WRITABLE if seen.anybits?(WRITABLE_BITS)
        ready &= wanted
        seen.anybits?(ERROR_BITS) ? ready | POLLERR : ready
      rescue IOError, Errno::EBADF # JRuby raises EBADF when another thread closes the IO
        raise closed(member.object)
      end

      def poll_bits(events)
        (events.anybits?(READABLE) ? POLLIN : 0) | (events.anybits?(WRITABLE) ? POLLOUT_BIT : 0)
      end

      def open_io(member)
        raise closed(member.object) if member.io.closed?
        member.io
      end

      def closed(object)
        Failed.new(ClosedError,
          "#{object.inspect} was closed while it was registered: remove it from the poller")
      end

      def check_socket(object)
        socket = Backend::FFI.handle_of(object)
        raise Failed.new(ClosedError, object: object) if socket.nil? || socket.closed?
        socket.use {} # `use` raises while a proxy uses the socket
      end

      def check_io(object, io, events)
        name = object.inspect
        if io.closed?
          raise Failed.new(ClosedError, "#{name} is closed: register it while it is open")
        end
        mode = LibC.flags(io.fileno) & Fcntl::O_ACCMODE
        if mode == Fcntl::O_WRONLY && events.anybits?(READABLE)
          raise Failed.new(UnsupportedError, "#{name} is not open for reading")
        end
        return unless mode == Fcntl::O_RDONLY && events.anybits?(WRITABLE)
        raise Failed.new(UnsupportedError, "#{name} is not open for writing, or has a second " \
          "descriptor for it, which the FFI backend cannot see")
      end
    end
  end
end
