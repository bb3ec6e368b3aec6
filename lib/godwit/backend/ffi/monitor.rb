# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # The queue of one Monitor, guarded by its socket's lock.
      # @private
      class MonitorQueue
        attr_reader :dropped

        def initialize(wanted, limit)
          @wanted = wanted
          @limit = limit
          @events = []
          @dropped = 0
          @attached = true
        end

        # The oldest makes room, as what is going on now matters more.
        def put(event, values, local, remote)
          return unless @wanted.anybits?(event)
          @events << [
            event, values,
            *[local, remote].map { |endpoint| endpoint&.dup&.force_encoding(Encoding::UTF_8) }
          ]
          return if @limit.zero? || @events.size <= @limit
          @events.shift
          @dropped += 1
        end

        def take = @events.shift

        def empty? = @events.empty?

        def clear = @events.clear

        def attached? = @attached

        def detach
          @attached = false
        end
      end
    end
  end

  # The primitives of a monitor over FFI; the rest is in lib/godwit/monitor.rb.
  class Monitor
    private

    def _open(socket, events, limit)
      raise "this monitor is open already" if @queue
      handle = Socket::FFIPrimitives.handle_of(socket)
      Backend::FFI::Failures.with_error_translation(:monitor, socket) do
        raise Backend::FFI::Failed, ClosedError unless handle
        handle.use do
          handle.listen(Backend::FFI::MonitorPump.all)
          @queue = Backend::FFI::MonitorQueue.new(events, limit)
          handle.monitor_pump.add(@queue)
        end
      end
      @handle = handle
      ObjectSpace.define_finalizer(self, Monitor.__send__(:finalizer, @queue, handle))
      self
    end

    # It hands over and never waits, and does not hold the Monitor.
    def self.finalizer(queue, handle)
      Backend::FFI::ProcessEnd.finalizer(Backend::FFI::MonitorEnd.new(queue, handle))
    end
    private_class_method :finalizer

    # [event, values, local endpoint, remote endpoint or nil], or nil when time is up. What came
    # before the socket's close is handed out first.
    def _next(timeout)
      deadline = Backend::FFI::Clock.deadline(timeout)
      Backend::FFI::Failures.with_error_translation(:next_event, self) do
        raise Backend::FFI::Failed, ClosedError if !@queue || @closed
        begin
          outcome = @handle.attempt(deadline, 0, @handle.monitor_waiters, in_proxy: true) do
            raise Backend::FFI::Failed, ClosedError if @closed
            @handle.monitor_pump&.drain if @queue.empty? && @queue.attached?
            event = @queue.take
            raise Backend::FFI::Failed, ClosedError unless event || @queue.attached?
            event || Backend::FFI::AGAIN
          end
          Backend::FFI::AGAIN.equal?(outcome) ? nil : outcome
        rescue Backend::FFI::Failed => failed
          raise if failed.what != ClosedError || @closed
          @handle.locked { @queue.take } || raise
        end
      end
    end

    def _close
      return if !@queue || @closed
      Backend::FFI::Failures.raise_for(ForkedError, :close, self) if @handle.forked?
      @closed = true
      Backend::FFI.keep_errno { Backend::FFI::MonitorEnd.new(@queue, @handle).collected }
      nil
    end

    def _closed? = !@queue || !@queue.attached?

    def _waiters = @handle ? @handle.monitor_waiters.size : 0

    def _dropped = @queue ? @queue.dropped : 0

    # Has libzmq tell of the pipes of each connection; true: it will. nil where it has no such
    # thing.
    def _pipes_stats
      Backend::FFI::Failures.with_error_translation(:pipes_stats, self) do
        raise Backend::FFI::Failed, ClosedError if _closed?
        @handle.use do
          next unless Backend::FFI::Drafts.found?(:zmq_socket_monitor_pipes_stats)
          code = Backend::FFI::Drafts.zmq_socket_monitor_pipes_stats(@handle.zmq)
          error = ::FFI.errno
          @handle.settle
          raise Backend::FFI::Failed, error if code != 0 && error != Backend::FFI::EAGAIN
          code.zero?
        end
      end
    end
  end

  module Backend
    module FFI
      # Takes a Monitor's queue out of its socket.
      # @private
      MonitorEnd = Struct.new(:queue, :handle) do
        def collected
          return if handle.forked?
          handle.locked do
            queue.detach
            queue.clear
            handle.monitor_pump&.remove(queue)
            handle.monitor_waiters.wake
            handle.leave_feed if handle.state == :open
          end
        rescue Failed # a trap handler within a call on the socket
          queue.detach
        end
      end
    end
  end
end
