# frozen_string_literal: true

require_relative "../../../peer_counter"

module Godwit
  module Backend::FFI
    # Receives the events of libzmq's monitor of a socket over a PAIR, for the queue of each Monitor
    # and for the count of peers. The callers hold the socket's lock. libzmq must not report
    # BIND_FAILED: that report overwrites the errno of the bind (libzmq 4.3.4).
    class SocketMonitor
      INTERVAL = Constants::MONITOR_EVERY / 1000.0
      ZEROS = %i[recv_hwm linger].map { |name| Options.fetch(name).id }.freeze
      EVENTS = EVENT_ALL & ~EVENT_BIND_FAILED
      PEER_EVENTS = PeerCounter::KINDS.keys.to_h do |name|
        [Backend::FFI.const_get("EVENT_#{name.upcase}"), name]
      end.freeze

      # The events that the count of peers needs. Other events would only fill the PAIR's queue.
      COUNTED = PEER_EVENTS.keys.reduce(:|)

      attr_reader :waiting

      def initialize(handle)
        @handle = handle
        @waiting = Waiting.new(handle) { @pair.fd }
        @listeners = []
        @drained = 0
        @counts = false
      end

      # The monitor counts peers from the socket's next bind or connect on.
      def count_from_now
        @counts = true
      end

      # @return [Boolean] whether the next bind or connect begins the count of peers
      def counts? = @counts

      def add(listener)
        start(EVENTS)
        @listeners << listener
      end

      def remove(listener)
        @listeners.delete_if { |other| other.equal?(listener) }
        @waiting.wake
        end_idle if @handle.state == :open
      end

      # Runs before the first bind or connect, so that the count misses no connection.
      def start_counting
        return if !@counts || @peers || @handle.publisher?
        @counts = false # a socket starts the count of its peers only once
        start(COUNTED)
        @peers = PeerCounter.new(@handle.context.io_threads)
        @handle.disturb
      end

      def stop_counting
        return unless @peers
        @peers = nil
        @waiting.wake
        end_idle
      end

      # @return [Integer, nil] the number of peers now; nil: the monitor does not count them
      def count
        return unless @peers
        # In the call of `events` libzmq sends the subscriptions of a bound SUB to its new peer.
        @handle.raw.events if drain
        (@handle.type == STREAM) ? @peers.open : @peers.established # raw TCP has no ZMTP handshake
      end

      # Reads all events in the PAIR.
      def drain
        return false if @pair.nil? || @ended
        came = true # drain_pair may consume an edge of the PAIR's ZMQ_FD and then raise
        came = drain_pair
      ensure
        # This drain consumed the edge that the other waiting threads need.
        @waiting.wake if came
      end

      # Drains the PAIR every few ms: its queue has no limit, and perhaps no thread reads events.
      def drain_at_times
        return unless @pair
        now = Runtime.now
        return if now - @drained < INTERVAL
        @drained = now
        drain
      rescue Failed
        nil
      end

      # Gives the last events to the Monitors before the socket closes.
      def end
        finish(@handle.raw) if @pair && !@ended
        @ended = true
        @listeners.each(&:detach)
        @listeners.clear
        @waiting.wake
      end

      # Closes the PAIR, for whose events no thread waits any longer.
      def free
        self.end
        @peers = nil
        return unless @pair
        @pair.close
        Zmq.zmq_msg_close(@frame)
        @pair = @frame = nil
      end

      # Observes the new libzmq socket of a recreated REQ, for the same listeners. The new socket
      # has no endpoint yet, so no event is missed.
      def move(before)
        return unless @pair
        pair = @pair
        @moving = true
        finish(before)
        @moving = false
        @waiting.wake
        @pair = connect(@events)
        pair.close
      rescue Failed # no descriptor is free for the new PAIR: the monitors end
        report(EVENT_MONITOR_STOPPED, 0, "")
        free
        @ended = false
      end

      def bind_failed(endpoint, error)
        # In these cases libzmq itself reports no BIND_FAILED either.
        return if @pair.nil? || error == ETERM || endpoint.start_with?("inproc:")
        drain # the listeners get the earlier events first
        report(EVENT_BIND_FAILED, error, endpoint)
        @waiting.wake
      end

      private

      # Makes libzmq report these events. If the present PAIR gets fewer, a new PAIR replaces it.
      def start(events)
        return if @pair && @events.allbits?(events)
        @frame ||= Zmq.new_message
        before = @pair
        @pair = connect(events)
        @events = events
        @ended = false
        drain_pair(before) if before
      ensure
        if before && !before.equal?(@pair)
          @waiting.wake # the waiters poll the former PAIR
          before.close
        end
      end

      # A full PAIR would block libzmq, so its high-water mark is 0 (no limit) before it connects.
      def connect(events)
        pair = RawSocket.new(@handle.context, PAIR)
        endpoint = "inproc://godwit.ffi.monitor.#{pair.address}"
        ZEROS.each { |id| pair.set(id, 0) }
        listens = Zmq.zmq_socket_monitor(@handle.raw.pointer, endpoint, events).zero?
        raise Failed, ::FFI.errno unless listens && Zmq.zmq_connect(pair.pointer, endpoint).zero?
        connected = pair
      ensure
        pair&.close unless connected
      end

      # Ends libzmq's monitor when no listener remains.
      def end_idle
        return if @pair.nil? || @ended || @peers || @listeners.any?
        free
        @ended = false
      end

      # libzmq's monitor stops before the PAIR closes: libzmq would wait for ever for a closed PAIR.
      def finish(raw)
        Zmq.zmq_socket_monitor(raw.pointer, nil, 0)
        drain_pair
      rescue Failed
        nil
      end

      def drain_pair(pair = @pair)
        came = false
        while (first = frame(pair))
          came = true
          # libzmq delivers all frames of an event together.
          event, value = first.unpack("SL")
          endpoint = frame(pair) if Zmq.zmq_msg_more(@frame) == 1
          report(event, value, endpoint || "") if value
        end
        came
      end

      def frame(pair)
        size = pair.receive(@frame)
        return size.zero? ? "".b : Zmq.zmq_msg_data(@frame).read_bytes(size) if size >= 0
        raise Failed, -size unless size == -EAGAIN
      end

      def report(event, value, endpoint)
        return if @moving && event == EVENT_MONITOR_STOPPED
        @peers&.record(PEER_EVENTS[event], value)
        @listeners.each { |listener| listener.put(event, value, endpoint) }
      end
    end
  end
end
