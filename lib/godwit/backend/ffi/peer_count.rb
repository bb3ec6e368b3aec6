# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Counts the peers of a socket from its first endpoint to its first message, for wait_connected. The socket's lock guards it.
      # @private
      class PeerCount
        OPENED = EVENT_CONNECTED | EVENT_ACCEPTED
        DISCONNECTED = EVENT_DISCONNECTED
        SUCCEEDED = EVENT_HANDSHAKE_SUCCEEDED
        FAILED = EVENT_HANDSHAKE_FAILED_NO_DETAIL | EVENT_HANDSHAKE_FAILED_PROTOCOL | EVENT_HANDSHAKE_FAILED_AUTH
        WATCHED = OPENED | DISCONNECTED | SUCCEEDED | FAILED

        # What was told of anybody by the time a connection was opened; nil: nobody knows.
        Connection = Struct.new(:successes, :failures)

        attr_reader :open, :established

        def initialize(socket, unordered)
          @socket = socket
          @unordered = unordered # several I/O threads: a connection's opening may be told after what became of it
          @known = {}
          @gone = Hash.new(0)
          @open = @established = @successes = @failures = @failing = @doubtful = 0
        end

        def stop = @socket.stop_counting

        # One event of the monitor.
        def note(event, value)
          if event.anybits?(OPENED) then opened(value)
          elsif event.anybits?(FAILED)
            @failing += 1
            @failures += 1
          elsif event == DISCONNECTED then closed(value)
          elsif event == SUCCEEDED
            @established += 1
            @successes += 1
          end
        end

        private

        def opened(fd)
          @open += 1
          return @gone[fd] -= 1 if @gone[fd] > 0
          (@known[fd] ||= []) << (@unordered ? Connection.new : Connection.new(@successes, @failures))
        end

        # libzmq does not say whose handshake succeeded or failed, only whose connection ended. ext/godwit/peers.c tells how this guesses,
        # and what it cannot tell.
        def closed(fd)
          @open -= 1
          connection = @known[fd]&.pop
          @known.delete(fd) if @known[fd] && @known[fd].empty?
          @gone[fd] += 1 unless connection
          peer = connection&.successes != @successes
          failed = connection&.failures != @failures
          if failed && @failing > 0
            @failing -= 1
            @doubtful += 1 if peer
          elsif peer
            @established -= 1
          elsif failed && @doubtful > 0
            @doubtful -= 1
            @established -= 1
          end
          @established = @established.clamp(0, @unordered ? nil : [@open, 0].max)
        end
      end

      class SocketHandle
        # Has libzmq tell of what happens.
        # @raise [Failed]
        def listen(events)
          return @feed.widen(events) if @feed
          @feed = EventFeed.new(self, events)
          @feed.start # known here by now: what a trap handler raises leaves no PAIR behind
        ensure
          @feed = nil unless @feed&.io
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
          @readers.wake
          leave_feed
        end

        # Ends the feed if nobody listens any more.
        def leave_feed
          return if @feed.nil? || @feed.ended? || !@feed.idle? || @peers || forked?
          @readers.wake
          @feed.stop
          @feed = nil
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
          if @feed.drain
            events # a bound SUB subscribes at its new peer when libzmq next runs on this thread: now
            settle
          end
          (@type == STREAM) ? @peers.open : @peers.established # raw TCP has no handshake
        end
      end
    end
  end
end
