# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What libzmq tells of a socket's connections, into a PAIR that is emptied into the queue of each Monitor; peers are counted from the
      # same. All is done with the socket's lock held. Of BIND_FAILED libzmq is not asked: telling it spoils the errno of the bind (4.3.4).
      # @private
      class EventFeed
        ALL = 0xffff
        BIND_FAILED = 0x0010
        STOPPED = 0x0400
        LOOK_EVERY = 0.01 # seconds
        RECEIVE_HWM = 24

        @serial = 0
        @serial_lock = Lock.new
        class << self
          # @return [String] an endpoint that no other feed has
          def endpoint
            number = @serial_lock.synchronize { @serial += 1 }
            "inproc://godwit.ffi.monitor.#{number}"
          end
        end

        attr_reader :io

        # @raise [Failed]
        def initialize(socket, events)
          @socket = socket
          @readers = []
          @ended = false
          @looked = 0
          @events = events & ~BIND_FAILED
          start
        end

        # @raise [Failed]
        def widen(events)
          events &= ~BIND_FAILED
          return if @events & events == events
          before = @pair
          @events |= events
          start
          drain_pair(before) # what came first is told first
          @socket.readers.wake # they wait on the descriptor that goes
          Zmq.zmq_close(before)
        end

        def add(reader)
          @readers << reader
        end

        def remove(reader)
          @readers.delete_if { |other| other.equal?(reader) }
        end

        def ended? = @ended

        def idle? = @readers.empty?

        # Empties the PAIR.
        # @return [Boolean] whether there was something
        # @raise [Failed]
        def drain
          return false if @ended
          begin
            news = drain_pair(@pair)
          rescue Failed
            @socket.readers.wake
            raise
          end
          @socket.readers.wake if news # who drains took the others' edge
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
          @readers.each(&:detach)
          @readers.clear
        end

        # Nobody waits any more.
        def free
          @readers.each(&:detach)
          @readers.clear
          Zmq.zmq_close(@pair) if @pair
          @pair = nil
          Zmq.zmq_msg_close(@part)
        end

        # A REQ was made anew, which is no end for the readers. The new socket has no endpoint yet, so nothing of it is missed.
        # @return [Boolean] false when no descriptor was left for it: then it has ended
        def move(before)
          pair = @pair
          @moving = true
          finish(before)
          @moving = false
          @socket.readers.wake
          start
          Zmq.zmq_close(pair)
          true
        rescue Failed
          tell(STOPPED, 0, "")
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
          tell(BIND_FAILED, error, endpoint)
          @socket.readers.wake
        end

        private

        def start
          LibC.check_descriptors(2)
          pair = Zmq.zmq_socket(@socket.context.zmq, PAIR)
          raise Failed, ::FFI.errno if pair.null?
          begin
            connect(pair)
          rescue Failed
            Zmq.zmq_close(pair)
            raise
          end
          @pair = pair
          @part ||= Zmq.new_message
        end

        # libzmq waits when the PAIR is full: it has no limit, and that is set before it connects.
        def connect(pair)
          endpoint = EventFeed.endpoint
          [RECEIVE_HWM, SocketHandle::LINGER].each { |id| OptionKinds.set(pair, OptionKinds.fetch(id), 0) }
          io = IO.for_fd(OptionKinds.get(pair, OptionKinds.fetch(SocketHandle::FD)), autoclose: false)
          raise Failed, ::FFI.errno if Zmq.zmq_socket_monitor(@socket.zmq, endpoint, @events) != 0
          if Zmq.zmq_connect(pair, endpoint) != 0
            error = ::FFI.errno
            Zmq.zmq_socket_monitor(@socket.zmq, nil, 0)
            raise Failed, error
          end
          @io = io
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
          head = part(pair) or return false
          endpoint = ""
          endpoint = part(pair) || "" while Zmq.zmq_msg_more(@part) == 1
          event, value = head.unpack("SL") if head.bytesize >= 6
          tell(event, value, endpoint) if event
          true
        end

        def part(pair)
          loop do
            rc = Zmq.zmq_msg_recv(@part, pair, DONTWAIT)
            return rc.zero? ? "".b : Zmq.zmq_msg_data(@part).read_bytes(rc) if rc >= 0
            error = ::FFI.errno
            return nil if error == EAGAIN
            raise Failed, error unless error == EINTR
          end
        end

        def tell(event, value, endpoint)
          return if @moving && event == STOPPED
          @socket.peers&.note(event, value)
          @readers.each { |reader| reader.put(event, value, endpoint) }
        end
      end
    end
  end
end
