# frozen_string_literal: true

module Godwit
  module CLI
    # Prints on standard error, when a socket has had no peer for two seconds, that it waits and
    # why, and later that a peer is there. Its thread ends with the socket.
    # @private
    class PeerNotice
      DELAY = 2 # seconds that a socket may have no peer before the notice
      POLL_INTERVAL = 0.25 # seconds; a Diagnosis also acts while no event comes
      AFTER = 0.3 # seconds that this command's second socket may connect after the first
      # Reasons that pass when the peer starts. The notice has the whole text of all others.
      PASSING = %i[refused no_answer no_address no_peer].freeze

      # During the block the library connects a socket of its own to the endpoint. So a second
      # socket connects, too, until the peer is there.
      # @param type [Class] of a socket that the peer accepts, and that receives no message
      def self.beside(type, endpoint, quiet: false, **options)
        return yield if quiet
        type.new(linger: 0, **options) do |socket|
          notice = new(socket)
          socket.connect(endpoint)
          connected = Thread.new do
            notice.wait(1)
            socket.close
          end
          yield.tap { connected.join(AFTER) if notice.told? }
        end
      end

      # @return [Boolean] whether the last line was that the socket waits
      def told? = @told

      # @param socket [Socket] that has no endpoint yet
      def initialize(socket, quiet: false)
        @socket = socket
        @quiet = quiet
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @most = 0
        @told = false
        @monitor = socket.monitor(*PeerCounter::KINDS.keys, limit: nil)
        @diagnosis = Diagnosis.new(socket, probes: !quiet)
        @due = Timeout.now + DELAY
        @thread = Thread.new { watch }
      end

      # Waits until there have been this many peers at once, or the socket is closed.
      def wait(count)
        @lock.synchronize { @changed.wait(@lock) until @ended || @most >= count }
      end

      private

      def watch
        loop do
          event = @monitor.next_event(timeout: @due && POLL_INTERVAL, exception: false)
          @diagnosis.update
          # The peer of an event may have departed already.
          came = (event&.name == :handshake_succeeded) ? 1 : 0
          count([@diagnosis.peers.to_i, came].max)
        end
      rescue ClosedError, ContextTerminatedError
        @diagnosis.close
        @lock.synchronize do
          @ended = true
          @changed.broadcast
        end
      end

      def count(peers)
        @lock.synchronize do
          @most = [@most, peers].max
          @changed.broadcast
        end
        return tell_connected if peers.positive?
        @due ||= Timeout.now + DELAY unless @told
        tell_waiting if @due && Timeout.now >= @due
      end

      def tell_connected
        @due = nil
        say("connected to #{endpoints}") if @told
        @told = false
      end

      def tell_waiting
        @due = nil
        @told = true
        found = @diagnosis.finding
        @diagnosis.end_probes
        reason = found && (PASSING.include?(found.reason) ? " (#{found.cause})" : ": #{found.text}")
        say("waiting for #{found&.endpoint || endpoints}#{reason}")
      end

      def endpoints = @socket.endpoints.join(", ")

      def say(text)
        warn "godwit: #{Printable.text(text)}" unless @quiet
      end
    end
  end
end
