# frozen_string_literal: true

module Godwit
  module Shell
    # Who is at the other end of a socket: counts on a thread of its own, from libzmq's monitor, until the socket is closed.
    # @private
    class Peers
      REFUSED = %i[handshake_failed_no_detail handshake_failed_protocol handshake_failed_auth].freeze
      EVENTS = [:handshake_succeeded, :disconnected, *REFUSED].freeze

      # @param socket [Socket] that has no endpoint yet
      # @yieldparam change [Integer] 1 or -1
      def initialize(socket, &changed)
        @refused = 0
        @changed = changed
        monitor = socket.monitor(*EVENTS, limit: nil)
        @thread = Thread.new { watch(monitor) }
        @thread.name = "godwit shell peers"
      end

      private

      def watch(monitor)
        monitor.each { |event| note(event.name) }
      ensure
        monitor.close
      end

      # One that was refused is told to be disconnected, too.
      def note(name)
        case name
        when :handshake_succeeded then @changed.call(1)
        when *REFUSED then @refused += 1
        else @refused.positive? ? @refused -= 1 : @changed.call(-1)
        end
      end
    end
  end
end
