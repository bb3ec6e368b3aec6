# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The queue of one Monitor. Its socket's lock guards it.
    class MonitorQueue
      attr_reader :dropped

      def initialize(socket, wanted, limit)
        @socket = socket
        @wanted = wanted
        @limit = limit
        @events = []
        @dropped = 0
        @attached = true
      end

      # A full queue drops its oldest event: recent events matter more.
      def put(event, value, endpoint)
        return unless @wanted.anybits?(event)
        @events << [event, [value], endpoint.dup.force_encoding(Encoding::UTF_8), nil]
        return if @limit.zero? || @events.size <= @limit
        @events.shift
        @dropped += 1
      end

      def take = @events.shift

      def empty? = @events.empty?

      def attached? = @attached

      def detach
        @attached = false
      end

      # The Monitor was closed or collected.
      def collected
        detach
        return if @socket.forked?
        @socket.locked do
          @events.clear
          @socket.monitor_pump&.remove(self)
          @socket.monitor_waiters.wake
          @socket.leave_monitor if @socket.state == :open
        end
      rescue Failed # a trap handler interrupted a call on the socket
        nil
      end
    end

    # The primitives of a monitor.
    module MonitorPrimitives
      include Failures

      private

      def _open(socket, events, limit)
        raise "this monitor is open already" if @queue
        handle = Backend::FFI.handle_of(socket)
        Failures.with_error_translation(:monitor, socket) do
          raise Failed, ClosedError unless handle
          handle.use do
            handle.listen
            @queue = MonitorQueue.new(handle, events, limit)
            handle.monitor_pump.add(@queue)
          end
        end
        @handle = handle
        ObjectSpace.define_finalizer(self, ProcessEnd.finalizer(@queue))
        self
      end

      # Events from before the socket's close come first.
      # @return [Array, nil] event, values, local and remote endpoint; nil when time is up
      def _next(timeout)
        deadline = Clock.deadline(timeout)
        with_error_translation(:next_event) do
          raise Failed, ClosedError if !@queue || @closed
          outcome = @handle.attempt(deadline, 0, @handle.monitor_waiters, in_proxy: true) do
            raise Failed, ClosedError if @closed
            @handle.monitor_pump&.drain if @queue.empty? && @queue.attached?
            event = @queue.take
            raise Failed, ClosedError unless event || @queue.attached?
            event || AGAIN
          end
          AGAIN.equal?(outcome) ? nil : outcome
        rescue Failed => failed
          raise if failed.what != ClosedError || @closed || !@queue
          @handle.locked { @queue.take } || raise
        end
      end

      def _close
        return if !@queue || @closed
        raise_failed(ForkedError, :close) if @handle.forked?
        @closed = true
        with_error_translation(:close) { @queue.collected }
        nil
      end

      def _closed? = !@queue || !@queue.attached?

      def _waiters = @handle ? @handle.monitor_waiters.size : 0

      def _dropped = @queue ? @queue.dropped : 0

      # @return [nil] it needs drafts
      def _pipes_stats
        raise_failed(ClosedError, :pipes_stats) if _closed?
      end
    end
  end

  class Monitor
    include Backend::FFI::MonitorPrimitives
  end
end
