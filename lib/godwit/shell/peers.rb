# frozen_string_literal: true

require_relative "../peer_counter"

module Godwit
  module Shell
    # Who is at the other end of a socket: counts on a thread of its own, from libzmq's monitor,
    # until the socket is closed.
    # @private
    class Peers
      KINDS = {
        connected: :opened, accepted: :opened, disconnected: :closed,
        handshake_succeeded: :succeeded, handshake_failed_no_detail: :failed,
        handshake_failed_protocol: :failed, handshake_failed_auth: :failed
      }.freeze

      # @param socket [Socket] that has no endpoint yet
      # @yieldparam change [Integer] 1 or -1
      def initialize(socket, &changed)
        @counter = PeerCounter.new(unordered: socket.context.io_threads != 1)
        @changed = changed
        monitor = socket.monitor(*KINDS.keys, limit: nil)
        @thread = Thread.new { watch(monitor) }
        @thread.name = "godwit shell peers"
      end

      private

      def watch(monitor)
        monitor.each { |event| note(event) }
      ensure
        monitor.close
      end

      def note(event)
        before = known
        @counter.note(KINDS.fetch(event.name), event.fd)
        @came ||= @counter.established > 0
        change = known - before
        @changed.call(change) unless change.zero?
      end

      # The counter may take a stranger's leaving for a peer's; so the last peer has left only when
      # no connection is open.
      def known = [@counter.established, (@came && @counter.open > 0) ? 1 : 0].max
    end
  end
end
