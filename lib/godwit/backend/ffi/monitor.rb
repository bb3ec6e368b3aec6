# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The events of one Monitor that were not read yet. The socket's lock guards this queue.
    class MonitorQueue
      attr_reader :dropped

      def initialize(handle, wanted, limit)
        @handle = handle
        @wanted = wanted
        @limit = limit
        @events = []
        @dropped = 0
        @attached = true
      end

      # Adds an event that the Monitor wants. A full queue drops its oldest event.
      def put(event, value, endpoint)
        return unless @wanted.anybits?(event)
        @events << [event, [value], endpoint.dup.force_encoding(Encoding::UTF_8), nil]
        return if @limit.zero? || @events.size <= @limit
        @events.shift
        @dropped += 1
      end

      def shift = @events.shift

      def empty? = @events.empty?

      def attached? = @attached

      def detach
        @attached = false
      end

      # Ends the queue after its Monitor was closed or collected.
      def collected
        detach
        @handle.lock.synchronize do
          @events.clear
          @handle.monitor.remove(self)
        end
      end
    end

    # The primitives of a monitor.
    module MonitorPrimitives
      include Failures

      private

      def _open(socket, events, limit)
        handle = Backend::FFI.handle_of(socket)
        Failures.with_error_translation(:monitor, socket) do
          raise Failed, ClosedError unless handle
          handle.use do
            queue = MonitorQueue.new(handle, events, limit)
            handle.monitor.add(queue)
            @queue = queue
          end
        end
        @handle = handle
        ObjectSpace.define_finalizer(self, ProcessEnd.finalizer(@queue))
        self
      end

      # Gives the events from before the socket's close first, then raises ClosedError.
      # @return [Array, nil] event, values, local and remote endpoint; nil when time is up
      def _next(timeout)
        deadline = Clock.deadline(timeout)
        with_error_translation(:next_event) do
          raise Failed, ClosedError if !@queue || @closed
          outcome = @handle.monitor.waiting.attempt(deadline, 0, in_proxy: true) do
            raise Failed, ClosedError if @closed
            @handle.monitor.drain if @queue.empty? && @queue.attached?
            event = @queue.shift
            raise Failed, ClosedError unless event || @queue.attached?
            event || AGAIN
          end
          outcome unless AGAIN.equal?(outcome)
        rescue Failed => failed
          raise if failed.what != ClosedError || @closed || !@queue
          @handle.lock.synchronize { @queue.shift } || raise
        end
      end

      def _close
        return if !@queue || @closed
        raise_failed(ForkedError, :close) unless @handle.context.own?
        @closed = true
        with_error_translation(:close) { @queue.collected }
        nil
      end

      def _closed? = !@queue || !@queue.attached?

      def _waiters = @handle ? @handle.monitor.waiting.waiters.size : 0

      def _dropped = @queue ? @queue.dropped : 0

      # @return [nil] always: pipes_stats needs draft functions, which this backend lacks
      def _pipes_stats
        raise_failed(ClosedError, :pipes_stats) if _closed?
      end
    end
  end
end
