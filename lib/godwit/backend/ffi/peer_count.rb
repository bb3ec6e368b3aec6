# frozen_string_literal: true

require_relative "../../peer_counter"

module Godwit
  module Backend
    module FFI
      # The peers of a socket from its first endpoint to its first message, for wait_connected. The
      # socket's lock guards it.
      # @private
      class PeerCount
        KINDS = {
          EVENT_CONNECTED => :opened, EVENT_ACCEPTED => :opened, EVENT_DISCONNECTED => :closed,
          EVENT_HANDSHAKE_SUCCEEDED => :succeeded, EVENT_HANDSHAKE_FAILED_NO_DETAIL => :failed,
          EVENT_HANDSHAKE_FAILED_PROTOCOL => :failed, EVENT_HANDSHAKE_FAILED_AUTH => :failed
        }.freeze
        WATCHED = KINDS.keys.reduce(:|)

        def initialize(socket, unordered)
          @socket = socket
          @counter = PeerCounter.new(unordered: unordered)
        end

        def open = @counter.open

        def established = @counter.established

        def stop = @socket.stop_counting

        # One event of the monitor.
        def note(event, value) = @counter.note(KINDS[event], value)
      end

      class SocketHandle
        # Has libzmq tell of what happens.
        # @raise [Failed]
        def listen(events)
          return @monitor_pump.widen(events) if @monitor_pump
          @monitor_pump = MonitorPump.new(self, events)
          @monitor_pump.start # known here by now: what a trap handler raises leaves no PAIR behind
        ensure
          @monitor_pump = nil unless @monitor_pump&.io
        end

        # Before the first bind or connect, since a connection made earlier would be missed.
        # @raise [Failed]
        def start_counting
          return if !@counting || @peers || @publisher
          @counting = false # once
          listen(PeerCount::WATCHED)
          @peers = PeerCount.new(self, @context.io_threads != 1)
        end

        def stop_counting
          @peers = nil
          @monitor_waiters.wake
          leave_feed
        end

        # Ends the monitor_pump if nobody listens any more.
        def leave_feed
          if @monitor_pump.nil? || @monitor_pump.ended? || !@monitor_pump.idle? || @peers || forked?
            return
          end
          @monitor_waiters.wake
          @monitor_pump.stop
          @monitor_pump = nil
        end

        # @return [Integer, nil] how many there are now; nil: they are not counted
        # @raise [Failed]
        def count_peers
          if @publisher
            error = drain_subscriptions
            raise Failed, error unless error == EAGAIN
            return @subscriptions
          end
          return unless @peers
          if @monitor_pump.drain
            # A bound SUB subscribes at its new peer when libzmq next runs on this thread: now.
            events
            settle
          end
          (@type == STREAM) ? @peers.open : @peers.established # raw TCP has no handshake
        end
      end
    end
  end
end
