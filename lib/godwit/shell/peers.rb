# frozen_string_literal: true

require_relative "../peer_counter"

module Godwit
  module Shell
    # Counts a socket's peers on a thread of its own, from libzmq's monitor, until the socket
    # closes. (The socket's own count ends with its first message.)
    # @private
    class Peers
      # @param socket [Socket] that has no endpoint yet
      # @yieldparam change [Integer] 1 or -1
      def initialize(socket, &changed)
        @counter = PeerCounter.new(socket.context.io_threads)
        @changed = changed
        monitor = socket.monitor(*PeerCounter::KINDS.keys, limit: nil)
        @thread = Thread.new { watch(monitor) }
        @thread.name = "godwit shell peers"
      end

      private

      def watch(monitor)
        monitor.each { |event| record(event) }
      ensure
        monitor.close
      end

      def record(event)
        before = known
        @counter.record(event.name, event.fd)
        @came ||= @counter.established > 0
        change = known - before
        @changed.call(change) unless change.zero?
      end

      # The counter may take a stranger's leaving for a peer's: the last peer has left only when no
      # connection is open.
      def known = [@counter.established, (@came && @counter.open > 0) ? 1 : 0].max
    end
  end
end
