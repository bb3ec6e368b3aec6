# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # The place of one socket or IO in a poller. It holds neither: a socket's handle knows its
      # watches.
      # @private
      class Watch
        READING = 0x2001 # EPOLLIN, EPOLLRDHUP

        attr_reader :serial, :fd, :stamp
        attr_accessor :events

        def initialize(group, serial, events, socket)
          @group = group
          @serial = serial
          @events = events
          @socket = socket
          @fd = -1
          @stamp = 0
          @gone = false
        end

        def touch = @group.touch(self)

        # Called with the group's lock held.
        def touched
          @stamp += 1
        end

        # Edge-triggered, and for a ZMQ_FD for reading and writing: an eventfd is always writable,
        # so that the epoll tells of each edge, also when somebody else has swallowed it.
        # @raise [Failed]
        def attach(fd)
          @group.guarded do
            next if @gone # another thread removed it meanwhile
            bits = LibC::EPOLLET
            bits |= READING if @socket || @events.anybits?(READABLE)
            bits |= LibC::EPOLLOUT if @socket || @events.anybits?(WRITABLE)
            before = @fd
            # first: a trap handler's error comes at any point, and who retires it must know
            @fd = fd
            @group.control(
              (fd == before) ? LibC::EPOLL_CTL_MOD : LibC::EPOLL_CTL_ADD, fd, bits, @serial
            )
          rescue Failed
            @fd = before
            raise
          end
        rescue Failed => failed
          # A plain file is always ready, and so always due.
          raise if failed.what != Errno::EPERM::Errno || @socket
        end

        # Closing does not take a descriptor out of an epoll while a forked child has it open.
        # @param in_epoll false when its number may be another's by now
        def detach(in_epoll: true)
          @group.guarded do
            @group.control(LibC::EPOLL_CTL_DEL, @fd, 0, @serial) if in_epoll && @fd >= 0
            @fd = -1
          rescue Failed
            @fd = -1
          end
        end

        # For good.
        def retire(in_epoll: true)
          @gone = true
          detach(in_epoll: in_epoll)
        end

        # The socket was made anew. An error shows when it is asked.
        def move(fd)
          detach
          attach(fd)
        rescue Failed
          nil
        end
      end

      # What a poller waits with (ADR 13). A socket's lock may be held when this one's is taken,
      # never the other way round.
      # @private
      class PollerHandle
        include FairYield

        AT_ONCE = Constants::EPOLL_EVENTS

        # @raise [Failed]
        def initialize
          @epoll = LibC.epoll_io
          @pid = Process.pid
          @lock = Lock.new
          @queue = WaitQueue.new
          @due = {}.compare_by_identity
          @watches = {} # serial => Watch
          @serial = 0
          @state = :open
        end

        def forked? = @pid != Process.pid

        def closed? = @state != :open

        # @return [Integer] threads and fibers that wait
        def waiters = @queue.size

        def locked(&block)
          @lock.synchronize(&block)
        rescue Lock::Held
          raise Failed.in_handler("poller")
        end

        # The same for what must be done in a trap handler too: there, where it interrupted the one
        # that holds the lock, without.
        def guarded(&block)
          @lock.synchronize(&block)
        rescue Lock::Held
          yield
        end

        # @raise [Failed]
        def check
          raise Failed, ClosedError unless @state == :open
          raise Failed, ForkedError if forked?
        end

        def add(events, socket)
          locked do
            @serial += 1
            @watches[@serial] = Watch.new(self, @serial, events, socket)
          end
        end

        def remove(watch)
          locked do
            @watches.delete(watch.serial)
            @due.delete(watch)
          end
        end

        # It is to be asked before the next wait.
        def touch(watch) = guarded { mark(watch) }

        # @raise [Failed]
        def control(operation, fd, bits, serial)
          raise Failed, ClosedError if @epoll.closed?
          LibC.watch(@epoll, fd, bits, operation: operation, data: serial)
        end

        # @return [Array] of those that are due, each with its stamp
        def collect
          locked do
            check
            buffer = ::FFI::MemoryPointer.new(AT_ONCE * LibC::EVENT_SIZE)
            loop do
              count = LibC.epoll_wait(@epoll.fileno, buffer, AT_ONCE, 0)
              count.times do |index|
                touched(buffer.get_bytes(index * LibC::EVENT_SIZE, LibC::EVENT_SIZE))
              end
              break if count < AT_ONCE
            end
            @due.keys.map { |watch| [watch, watch.stamp] }
          end
        end

        # It was asked and is not ready; unless something came since then it is no longer due.
        def settle(watch, stamp)
          locked { @due.delete(watch) if watch.stamp == stamp }
        end

        # Waits until something is due: true, or time is up: false.
        # @raise [Failed]
        def pause(deadline)
          waiter = nil
          begin
            due = locked do
              check
              next true unless @due.empty?
              next false if deadline == 0
              waiter = Waiter.new(@queue.spare, READABLE)
              @queue.enter(waiter)
              nil
            end
            return due unless waiter
            again = waiter.pause(@epoll, deadline) || !Clock.passed?(deadline)
            leave(waiter)
            waiter = nil
            again
          ensure
            leave(waiter) if waiter
          end
        end

        def close
          locked do
            next if @state == :closed
            @state = :closing
            @due.clear
            @queue.wake
            release if @queue.empty?
          end
        end

        # The Poller was collected.
        def collected
          return if forked?
          close
        rescue Failed
          nil
        end

        private

        def touched(event)
          watch = @watches[event.unpack1("@#{LibC::EVENT_SIZE - 8}Q")]
          mark(watch) if watch
        end

        def mark(watch)
          watch.touched
          return if @due[watch]
          @due[watch] = true
          @queue.wake
        end

        def leave(waiter)
          @lock.synchronize do
            @queue.leave(waiter, keep: @state == :open)
            release if @state == :closing && @queue.empty?
          end
        rescue Lock::Held
          nil
        end

        def release
          @queue.drop_spares
          @epoll.close
          @state = :closed
        end
      end
    end
  end
end
