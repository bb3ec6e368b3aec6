# frozen_string_literal: true

module Godwit
  class Socket
    # Listens to the events of the socket's connections.
    module Monitoring
      # Listens to later events of the socket's connections: call this before `bind` and `connect`.
      # With a block, yields each event until the socket is closed, then closes the Monitor.
      #
      #   monitor = socket.monitor
      #   socket.monitor(:disconnected) { |event| puts event }
      #
      # @param events [Array<Symbol>] of {Monitor::EVENTS}; none: all
      # @param limit [Integer, nil] most unread events to store; older events are dropped. nil:
      #   no limit
      # @yieldparam event [Monitor::Event]
      # @return [Monitor] or, with a block, the socket
      # @raise [Error] see {Monitor#initialize}
      def monitor(*events, limit: Monitor::LIMIT, &block)
        monitor = Monitor.new(self, *events, limit: limit)
        return monitor unless block
        begin
          monitor.each(&block)
        ensure
          monitor.close unless forked? # a forked child leaves the monitor to its parent
        end
        self
      end

      # Calls the block for each event, in a background thread, until the socket is closed. The
      # thread refers to the socket, which is not collected then; kill the thread to stop earlier.
      #
      # When the block raises, `on_error` is called, or, without `on_error`, a warning is printed;
      # the thread then goes on.
      #
      #   socket.on_event(:handshake_failed_auth, :disconnected) { |event| logger.warn(event.to_s) }
      #
      # @param events [Array<Symbol>] of {Monitor::EVENTS}; none: all
      # @param limit [Integer, nil] as {#monitor}
      # @param on_error [#call, nil] takes the error and the event
      # @yieldparam event [Monitor::Event]
      # @return [Thread] it ends when the socket is closed
      # @raise [ArgumentValueError] without a block
      # @raise [ArgumentTypeError] when `on_error` cannot be called
      # @raise [Error] see {Monitor#initialize}
      def on_event(*events, limit: Monitor::LIMIT, on_error: nil, &block)
        text = "on_event needs a block that takes an event"
        raise Errors.of(ArgumentValueError, :on_event, text) unless block
        Errors.check_callable(:on_event, "on_error:", on_error)
        monitor = Monitor.new(self, *events, limit: limit)
        Thread.new { dispatch(monitor, on_error, block) }
      end

      private

      def dispatch(monitor, on_error, block)
        monitor.each do |event|
          block.call(event)
        rescue => error
          report_error(on_error, error, event)
        end
      ensure
        monitor.close unless forked?
      end

      def report_error(on_error, error, event)
        return on_error.call(error, event) if on_error
        warn "#{inspect}: the block of on_event raised #{error.full_message(highlight: false)}"
      rescue => again
        warn "#{inspect}: on_error of on_event raised #{again.full_message(highlight: false)}"
      end
    end
  end
end
