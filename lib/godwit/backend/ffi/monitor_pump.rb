# frozen_string_literal: true

require_relative "../../peer_counter"

module Godwit
  module Backend::FFI
    # Receives the events of libzmq's monitor over a PAIR, for the queue of each Monitor and for
    # the count of peers. The socket's lock is held. BIND_FAILED is not asked for: reporting it
    # spoils the errno of the bind (libzmq 4.3.4).
    class MonitorPump
      POLL_INTERVAL = Constants::MONITOR_EVERY / 1000.0
      RECEIVE_HWM = Options.fetch(:recv_hwm).id

      EVENTS = EVENT_ALL & ~EVENT_BIND_FAILED

      attr_reader :io

      def initialize(socket)
        @socket = socket
        @listeners = []
        @ended = false
        @looked = 0
      end

      # @raise [Failed]
      def start
        LibC.check_descriptors(2)
        pair = Zmq.zmq_socket(@socket.context.zmq, PAIR)
        raise Failed, ::FFI.errno if pair.null?
        @frame ||= Zmq.new_message
        connect(pair)
      ensure
        Zmq.zmq_close(pair) if pair && !pair.null? && !pair.equal?(@pair)
      end

      def add(listener)
        @listeners << listener
      end

      def remove(listener)
        @listeners.delete_if { |other| other.equal?(listener) }
      end

      def ended? = @ended

      def idle? = @listeners.empty?

      # Empties the PAIR.
      # @return [Boolean] whether there was something
      # @raise [Failed]
      def drain
        return false if @ended
        came = true
        came = drain_pair(@pair)
      ensure
        # This drain consumed the edge that the other waiters need.
        @socket.monitor_waiters.wake if came
      end

      # Empties a PAIR without readers now and then, since it has no limit.
      def look
        now = Clock.now
        return if now - @looked < POLL_INTERVAL
        @looked = now
        drain
      rescue Failed
        nil
      end

      # The socket closes: its monitors get the events that are there.
      def end
        return if @ended
        finish(@socket.zmq)
        @ended = true
        detach_all
      end

      # The monitors have no waiters any more.
      def free
        detach_all
        Zmq.zmq_close(@pair) if @pair
        @pair = nil
        Zmq.zmq_msg_close(@frame)
      end

      # A REQ was recreated, which is no end for the monitors. The new socket has no endpoint yet,
      # so no event of it is missed.
      # @return [Boolean] false when no descriptor was left for it: then it has ended
      def move(before)
        pair = @pair
        @moving = true
        finish(before)
        @moving = false
        @socket.monitor_waiters.wake
        start
        Zmq.zmq_close(pair)
        true
      rescue Failed
        report(EVENT_MONITOR_STOPPED, 0, "")
        free
        false
      end

      def bind_failed(endpoint, error)
        return if error == ETERM || endpoint.start_with?("inproc:") # as libzmq
        drain # earlier events come first
        report(EVENT_BIND_FAILED, error, endpoint)
        @socket.monitor_waiters.wake
      end

      private

      def detach_all
        @listeners.each(&:detach)
        @listeners.clear
      end

      # libzmq waits when the PAIR is full: it has no limit, and that is set before it connects.
      def connect(pair)
        endpoint = "inproc://godwit.ffi.monitor.#{pair.address}"
        [RECEIVE_HWM, SocketHandle::LINGER].each { |id| OptionKinds.set(pair, id, 0) }
        io = IO.for_fd(OptionKinds.get(pair, SocketHandle::FD), autoclose: false)
        listening = Zmq.zmq_socket_monitor(@socket.zmq, endpoint, EVENTS).zero?
        raise Failed, ::FFI.errno unless listening && Zmq.zmq_connect(pair, endpoint).zero?
        @io = io
        @pair = pair
      end

      # libzmq first: it waits for ever for a PAIR that was closed.
      def finish(zmq)
        Zmq.zmq_socket_monitor(zmq, nil, 0)
        drain_pair(@pair)
      rescue Failed
        nil
      end

      def drain_pair(pair)
        came = false
        came = true while receive(pair)
        came
      end

      # One event: it is there whole once its first part is.
      def receive(pair)
        first = frame(pair) or return false
        event, value = first.unpack("SL")
        endpoint = (Zmq.zmq_msg_more(@frame) == 1) ? frame(pair) : nil
        report(event, value, endpoint || "") if value
        true
      end

      def frame(pair)
        size = -EINTR
        size = Zmq.result(Zmq.zmq_msg_recv(@frame, pair, DONTWAIT)) while size == -EINTR
        return size.zero? ? "".b : Zmq.zmq_msg_data(@frame).read_bytes(size) if size >= 0
        raise Failed, -size unless size == -EAGAIN
      end

      def report(event, value, endpoint)
        return if @moving && event == EVENT_MONITOR_STOPPED
        @socket.count(event, value)
        @listeners.each { |listener| listener.put(event, value, endpoint) }
      end
    end

    # The monitor of a socket, and the count of its peers.
    class SocketHandle
      PEER_EVENTS = PeerCounter::KINDS.keys.to_h do |name|
        [Backend::FFI.const_get("EVENT_#{name.upcase}"), name]
      end.freeze
      private_constant :PEER_EVENTS

      # Has libzmq report events.
      # @raise [Failed]
      def listen
        return if @monitor_pump
        pump = MonitorPump.new(self)
        pump.start
        @monitor_pump = pump
      end

      # Whether its peers are counted.
      def counted? = !@peers.nil?

      # Before the first bind or connect, since a connection made earlier would be missed.
      # @raise [Failed]
      def start_counting
        return if !@counting || @peers || @publisher
        @counting = false # once
        listen
        @peers = PeerCounter.new(@context.io_threads)
      end

      def stop_counting
        return unless @peers
        @peers = nil
        @monitor_waiters.wake
        leave_monitor
      end

      # @param event [Integer] of the monitor
      def count(event, value) = @peers&.record(PEER_EVENTS[event], value)

      # Ends the monitor when it has no listener any more.
      def leave_monitor
        return if @monitor_pump.nil? || @monitor_pump.ended? || !@monitor_pump.idle?
        return if @peers || forked?
        @monitor_waiters.wake
        @monitor_pump.end
        @monitor_pump.free
        @monitor_pump = nil
      end

      # @return [Integer, nil] peers now; nil: they are not counted
      # @raise [Failed]
      def count_peers
        if @publisher
          error = drain_subscriptions
          raise Failed, error unless error == EAGAIN
          return @subscriptions
        end
        return unless @peers
        # A bound SUB subscribes at its new peer when libzmq next runs on this thread: now.
        events if @monitor_pump.drain
        (@type == STREAM) ? @peers.open : @peers.established # raw TCP has no handshake
      end
    end
  end
end
