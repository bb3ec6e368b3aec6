# frozen_string_literal: true

module Godwit
  class Socket
    # Hearing what happens to the socket's connections.
    module Monitoring
      # Listens to the socket's connections: from now on, so make it before `bind` and `connect` to
      # miss nothing. With a block it yields each event until the socket is closed (or the block
      # breaks off), then closes the Monitor.
      #
      #   monitor = socket.monitor
      #   socket.monitor(:disconnected) { |event| puts event }
      #
      # @param events [Array<Symbol>] of {Monitor::EVENTS}; none: all
      # @param limit [Integer, nil] most events that it keeps for a reader who is late; the oldest
      #   are dropped. nil: no limit
      # @yieldparam event [Monitor::Event]
      # @return [Monitor] or, with a block, the socket
      # @raise [Error] see {Monitor#initialize}
      # @see http://api.zeromq.org/4-3:zmq-socket-monitor zmq_socket_monitor(3)
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

      # Calls the block for each event, in a thread of its own, until the socket is closed. Until
      # then the thread holds the socket: one that is merely dropped is not collected. To stop
      # hearing earlier, kill the thread.
      #
      # A block that raises does not end it: `on_error` is called; by default the error is warned
      # of.
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
        unless block
          raise ArgumentValueError.new(
            "on_event needs a block that takes an event", operation: :on_event
          )
        end
        unless on_error.nil? || on_error.respond_to?(:call)
          raise Errors.bad_type(:on_event, "on_error:", "what can be called, or nil", on_error)
        end
        monitor = Monitor.new(self, *events, limit: limit)
        Thread.new { hand_out(monitor, on_error, block) }
      end

      private

      def hand_out(monitor, on_error, block)
        monitor.each do |event|
          block.call(event)
        rescue => error
          complain(on_error, error, event)
        end
      ensure
        monitor.close unless forked?
      end

      def complain(on_error, error, event)
        return on_error.call(error, event) if on_error
        warn "#{inspect}: the block of on_event raised #{error.full_message(highlight: false)}"
      rescue => again
        warn "#{inspect}: on_error of on_event raised #{again.full_message(highlight: false)}"
      end
    end
  end
end
