# frozen_string_literal: true

module Godwit
  module CLI
    # When a socket has had no peer for two seconds, prints on standard error that the socket waits
    # and why; later, that a peer is there. The thread ends when the socket is closed.
    # @private
    class PeerNotice
      DELAY = 2 # seconds that a socket may have no peer before the notice
      POLL_INTERVAL = 0.25 # seconds until the Diagnosis is updated, if no event comes
      AFTER = 0.3 # seconds that the second socket may take to connect after the block's end
      # Reasons that end when the peer starts: the notice names the cause. For any other reason the
      # notice has the whole text of the diagnosis.
      PASSING = %i[refused no_answer no_address no_peer].freeze

      # The library connects its own socket in the block, and the notice cannot observe that socket.
      # So a second socket connects to the same endpoint, until the peer is there.
      # @param type [Class] of the second socket, which the peer accepts, and which receives nothing
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

      # @return [Boolean] whether the last printed line says that the socket waits
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

      # Waits until `count` peers have been connected at once, or the socket is closed.
      def wait(count)
        @lock.synchronize { @changed.wait(@lock) until @ended || @most >= count }
      end

      private

      def watch
        loop do
          event = @monitor.next_event(timeout: @due && POLL_INTERVAL, exception: false)
          @diagnosis.update
          # A peer whose handshake succeeded counts, even if it has departed already.
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
