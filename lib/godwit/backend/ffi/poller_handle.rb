# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The place of one socket or IO in a poller. It holds neither: a socket's handle knows its
    # watches.
    class Watch
      READING = 0x2001 # EPOLLIN, EPOLLRDHUP

      attr_reader :serial, :fd
      attr_accessor :events, :stamp

      def initialize(poller, serial, events, socket)
        @poller = poller
        @serial = serial
        @events = events
        @socket = socket
        @fd = -1
        @stamp = 0
        @gone = false
      end

      # The poller asks it before the next wait.
      def touch = @poller.touch(self)

      # Edge-triggered. A ZMQ_FD is watched for reading and writing: an eventfd is always
      # writable, so the epoll reports each edge, also one that another call has consumed.
      # @raise [Failed]
      def attach(fd)
        @poller.guarded do
          next if @gone # another thread removed it
          bits = LibC::EPOLLET
          bits |= READING if @socket || @events.anybits?(READABLE)
          bits |= LibC::EPOLLOUT if @socket || @events.anybits?(WRITABLE)
          operation = (fd == @fd) ? LibC::EPOLL_CTL_MOD : LibC::EPOLL_CTL_ADD
          @poller.control(operation, fd, bits, @serial)
          @fd = fd
        end
      rescue Failed => failed
        # A plain file is always ready, and so always due.
        raise if failed.what != Errno::EPERM::Errno || @socket
      end

      # Closing does not take a descriptor out of an epoll while a forked child has it open.
      # @param in_epoll [Boolean] false when its number may be another's by now
      def detach(in_epoll: true)
        @poller.guarded do
          @poller.control(LibC::EPOLL_CTL_DEL, @fd, 0, @serial) if in_epoll && @fd >= 0
        rescue Failed
          nil
        ensure
          @fd = -1
        end
      end

      # For good.
      def retire(in_epoll: true)
        @gone = true
        detach(in_epoll: in_epoll)
      end

      # The socket was recreated. An error shows when the poller asks the socket.
      def move(fd)
        detach
        attach(fd)
      rescue Failed
        nil
      end
    end

    # The epoll of a poller and its waiters (ADR 13). A socket's lock may be held when this one is
    # taken, never the other way round.
    class PollerHandle
      include FairYield

      AT_ONCE = Constants::EPOLL_EVENTS

      # @raise [Failed]
      def initialize
        @epoll = LibC.epoll_io
        @generation = ForkDetector::COUNT[0]
        @lock = Lock.new("poller")
        @queue = WaitQueue.new
        @due = {}.compare_by_identity
        @watches = {} # serial => Watch
        @serial = 0
        @state = :open
      end

      def forked? = @generation != ForkDetector::COUNT[0]

      def closed? = @state != :open

      # @return [Integer] threads and fibers that wait
      def waiters = @queue.size

      # @raise [Failed] in a trap handler that interrupted a call on the poller
      def locked(&block) = @lock.synchronize(&block)

      # As `locked`; a trap handler that interrupted the call that holds the lock goes on without.
      def guarded(&block) = @lock.mutex.owned? ? yield : locked(&block)

      # @raise [Failed]
      def check
        raise Failed, ClosedError if closed?
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

      def touch(watch)
        guarded do
          watch.stamp += 1
          next if @due[watch]
          @due[watch] = true
          @queue.wake
        end
      end

      # @raise [Failed]
      def control(operation, fd, bits, serial)
        raise Failed, ClosedError if @epoll.closed?
        LibC.watch(@epoll, fd, bits, operation: operation, data: serial)
      end

      # @return [Array] of the watches that are due, each with its stamp
      def collect
        locked do
          check
          buffer = ::FFI::MemoryPointer.new(AT_ONCE * LibC::EVENT_SIZE)
          loop do
            count = LibC.epoll_wait(@epoll.fileno, buffer, AT_ONCE, 0)
            count.times do |index|
              serial = buffer.get_uint64((index + 1) * LibC::EVENT_SIZE - 8)
              @watches[serial]&.touch
            end
            break if count < AT_ONCE
          end
          @due.keys.map { |watch| [watch, watch.stamp] }
        end
      end

      # The watch is not ready. It stays due only if it was touched since `collect`.
      def settle(watch, stamp)
        locked { @due.delete(watch) if watch.stamp == stamp }
      end

      # @return [Boolean] whether something is due; false: time is up
      # @raise [Failed]
      def pause(deadline)
        waiter = nil
        locked do
          check
          return !@due.empty? if deadline == 0
          @queue.enter(waiter = @queue.spare(READABLE))
          # A trap handler may interrupt this block. What it touches wakes only an entered waiter.
          return true unless @due.empty?
        end
        waiter.pause(@epoll, deadline) || !Clock.passed?(deadline)
      ensure
        leave(waiter) if waiter
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
        close unless forked?
      end

      private

      def leave(waiter)
        locked do
          @queue.leave(waiter, keep: @state == :open)
          release if @state == :closing && @queue.empty?
        end
      end

      def release
        @queue.drop_spares
        @epoll.close
        @state = :closed
      end
    end
  end
end
