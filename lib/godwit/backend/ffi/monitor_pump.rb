# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What libzmq tells of a socket's connections, into a PAIR that is emptied into the queue of
      # each Monitor; peers are counted from the same. All is done with the socket's lock held. Of
      # BIND_FAILED libzmq is not asked: telling it spoils the errno of the bind (4.3.4).
      # @private
      class MonitorPump
        LOOK_EVERY = Constants::MONITOR_EVERY / 1000.0
        RECEIVE_HWM = Options.fetch(:recv_hwm).id

        @serial = 0
        @serial_lock = Lock.new
        class << self
          # libzmq's events of version 2 have several values and both endpoints; only a libzmq with
          # drafts has them.
          def versioned? = Drafts.found?(:zmq_socket_monitor_versioned)

          def all = versioned? ? EVENT_ALL | EVENT_PIPES_STATS : EVENT_ALL

          # @return [String] an endpoint that no other monitor_pump has
          def endpoint
            number = @serial_lock.synchronize { @serial += 1 }
            "inproc://godwit.ffi.monitor.#{number}"
          end
        end

        attr_reader :io

        def initialize(socket, events)
          @socket = socket
          @listeners = []
          @ended = false
          @looked = 0
          @events = events & ~EVENT_BIND_FAILED
        end

        # @raise [Failed]
        def start
          LibC.check_descriptors(2)
          pair = Zmq.zmq_socket(@socket.context.zmq, PAIR)
          raise Failed, ::FFI.errno if pair.null?
          @part ||= Zmq.new_message
          connect(pair)
        ensure
          Zmq.zmq_close(pair) if pair && !pair.equal?(@pair)
        end

        # @raise [Failed]
        def widen(events)
          events &= ~EVENT_BIND_FAILED
          return if @events & events == events
          before = @pair
          @events |= events
          start
        ensure
          supersede(before) if before && !before.equal?(@pair)
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
          begin
            news = drain_pair(@pair)
          rescue Failed
            @socket.monitor_waiters.wake
            raise
          end
          @socket.monitor_waiters.wake if news # who drains took the others' edge
          news
        end

        # For one that nobody reads, now and then: the PAIR has no limit.
        def look
          now = Clock.now
          return if now - @looked < LOOK_EVERY
          @looked = now
          drain
        rescue Failed
          nil
        end

        # The socket closes: what is there goes to the readers.
        def end
          return if @ended
          finish(@socket.zmq)
          @ended = true
          @listeners.each(&:detach)
          @listeners.clear
        end

        # Nobody waits any more.
        def free
          @listeners.each(&:detach)
          @listeners.clear
          Zmq.zmq_close(@pair) if @pair
          @pair = nil
          Zmq.zmq_msg_close(@part)
        end

        # A REQ was made anew, which is no end for the readers. The new socket has no endpoint yet,
        # so nothing of it is missed.
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
          tell(EVENT_MONITOR_STOPPED, [0], "")
          free
          false
        end

        def stop
          finish(@socket.zmq)
          free
        end

        def bind_failed(endpoint, error)
          return if error == ETERM || endpoint.start_with?("inproc:") # as libzmq
          drain # what came first is told first
          tell(EVENT_BIND_FAILED, [error], endpoint)
          @socket.monitor_waiters.wake
        end

        private

        def supersede(pair)
          drain_pair(pair) # what came first is told first
          @socket.monitor_waiters.wake # they wait on the descriptor that goes
        ensure
          Zmq.zmq_close(pair)
        end

        # libzmq waits when the PAIR is full: it has no limit, and that is set before it connects.
        def connect(pair)
          @told = nil
          endpoint = MonitorPump.endpoint
          [RECEIVE_HWM, SocketHandle::LINGER].each do |id|
            OptionKinds.set(pair, OptionKinds.fetch(id), 0)
          end
          io =
            IO.for_fd(
              OptionKinds.get(pair, OptionKinds.fetch(SocketHandle::FD)) do |error|
                @socket.interrupted?(error)
              end,
              autoclose: false
            )
          raise Failed, ::FFI.errno if listen(endpoint) != 0
          raise Failed, ::FFI.errno if Zmq.zmq_connect(pair, endpoint) != 0
          @io = io
          @pair = pair
        ensure
          if @told == 0 && !pair.equal?(@pair) # what a trap handler raises comes at any point
            # To tell of its end libzmq waits for ever for a PAIR that nobody holds.
            Zmq.zmq_connect(pair, endpoint)
            Zmq.zmq_socket_monitor(@socket.zmq, nil, 0)
          end
        end

        def listen(endpoint)
          unless MonitorPump.versioned?
            return (
              @told = Zmq.zmq_socket_monitor(@socket.zmq, endpoint, @events)
            )
          end
          @told = Drafts.zmq_socket_monitor_versioned(@socket.zmq, endpoint, @events, 2, PAIR)
        end

        # libzmq first: it waits for ever for a PAIR that nobody holds.
        def finish(zmq)
          Zmq.zmq_socket_monitor(zmq, nil, 0)
          drain_pair(@pair)
        rescue Failed
          nil
        end

        def drain_pair(pair)
          news = false
          news = true while receive(pair)
          news
        end

        # One event: it is there whole once its first part is.
        def receive(pair)
          parts = [part(pair) || (return false)]
          parts << (part(pair) || "") while Zmq.zmq_msg_more(@part) == 1
          if MonitorPump.versioned?
            event, count = parts.shift(2).map { |bytes| bytes.unpack1("Q") }
            values = parts.shift(count.to_i).map { |bytes| bytes.unpack1("Q") }
          else
            event, *values = parts.shift.unpack("SL")
          end
          tell(event, values, parts[0] || "", parts[1]) if event && !values.empty?
          true
        end

        def part(pair)
          loop do
            rc = Zmq.zmq_msg_recv(@part, pair, DONTWAIT)
            return rc.zero? ? "".b : Zmq.zmq_msg_data(@part).read_bytes(rc) if rc >= 0
            error = ::FFI.errno
            return nil if error == EAGAIN
            raise Failed, error unless @socket.interrupted?(error)
          end
        end

        def tell(event, values, local, remote = nil)
          return if @moving && event == EVENT_MONITOR_STOPPED
          @socket.peers&.note(event, values.first)
          @listeners.each do |listener|
            listener.put(event, values, local, remote || (MonitorPump.versioned? ? "" : nil))
          end
        end
      end
    end
  end
end
