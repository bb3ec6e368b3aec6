# frozen_string_literal: true

require_relative "../peer_counter"

module Godwit
  module CLI
    # Counts a socket's peers on a thread of its own, until the socket closes. When the socket has
    # had none for two seconds, a line on standard error says so, and another one when a peer is
    # there.
    # @private
    class PeerNotice
      DELAY = 2 # seconds
      private_constant :DELAY

      # @param socket [Socket] that has no endpoint yet
      # @param quiet [Boolean] whether it prints nothing
      def initialize(socket, quiet: false)
        @socket = socket
        @quiet = quiet
        @counter = PeerCounter.new(socket.context.io_threads)
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @monitor = socket.monitor(*PeerCounter::KINDS.keys, limit: nil)
        @due = Timeout.now + DELAY
        @thread = Thread.new { watch }
      end

      # Waits until there are so many peers.
      # @param count [Integer]
      # @return [void]
      def wait(count)
        @lock.synchronize { @changed.wait(@lock) until @counter.established >= count }
      end

      private

      def watch
        loop do
          event = @monitor.next_event(timeout: left, exception: false)
          event ? record(event) : tell("waiting for")
        end
      rescue ClosedError, ContextTerminatedError
        nil
      end

      # @return [Float, nil] seconds until the notice is due; nil: it is not
      def left = @due && [@due - Timeout.now, 0].max

      def record(event)
        @lock.synchronize do
          @counter.record(event.name, event.fd)
          @changed.broadcast
        end
        return @due ||= @told ? nil : Timeout.now + DELAY if @counter.established.zero?
        @due = nil
        tell("connected to") if @told
      end

      def tell(words)
        @due = nil
        @told = words == "waiting for"
        warn "godwit: #{words} #{@socket.endpoints.join(", ")}" unless @quiet
      end
    end
  end
end
