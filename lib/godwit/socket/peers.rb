# frozen_string_literal: true

module Godwit
  class Socket
    # Counting peers, against slow joiners: a PUB drops messages that have no subscriber, and the
    # first worker that connects to a PUSH gets all the work until others connect.
    #
    # A PUB counts the subscriptions that have reached it. The other types listen to libzmq's
    # monitor from their first endpoint until their first message. That costs two descriptors, so
    # REQ, REP, DEALER, ROUTER, PAIR, STREAM and most draft types count only with `count_peers:
    # true`. (A DISH's groups reach a RADIO some time after the handshake.)
    module Peers
      COUNTING = %i[PUB XPUB SUB XSUB PUSH PULL SCATTER GATHER].freeze
      private_constant :COUNTING

      # Waits until peers are connected (their handshake is done); on a PUB, until there are
      # subscriptions. A topic that a peer subscribes to twice counts twice. (A bound SUB subscribes
      # at a new peer when it is next used: while it receives, or in its own `wait_connected`.) Any
      # number of threads and fibers may wait.
      #
      # libzmq reports which connection opened or ended, but not whose handshake succeeded, and it
      # does not report connections that the socket itself ends. So these count as peers: peers that
      # {#disconnect} or {#unbind} dropped, the second peer of a PAIR, and a peer that a ROUTER
      # refuses because its routing id is taken. A peer that leaves while another is refused may
      # count until that one has left too. A connection that breaks off its handshake with a
      # malformed frame may count as a peer that left. A PUB has no such cases.
      # @param count [Integer] how many at least
      # @param timeout [Integer, Float, nil] seconds; nil: for ever
      # @return [self]
      # @raise [TimeoutError] when time is up
      # @raise [StateError] when peers were not counted: after the first message, or without
      #   `count_peers: true`
      # @raise [UnsupportedError] when all its endpoints are inproc, of which libzmq's monitor tells
      #   nothing (a PUB counts there too)
      # @see http://api.zeromq.org/4-3:zmq-socket-monitor zmq_socket_monitor(3)
      def wait_connected(count: 1, timeout: nil)
        unless count.is_a?(Integer) && count.positive?
          raise Errors.bad_value(:wait_connected, "count:", "a number of peers, 1 or more", count)
        end
        milliseconds = Timeout.milliseconds(timeout)
        raise untold if untold?
        now = _wait_peers(count, milliseconds) or raise not_counted
        return self if now >= count
        raise Errors.build(TimeoutError, :wait_connected, endpoints.join(", "), too_few(now, count))
      end

      private

      def count_peers(wanted)
        @counts = wanted.nil? ? COUNTING.include?(type) : wanted
        _count_peers if @counts
      end

      # libzmq's monitor reports no inproc connections.
      def untold?
        type != :PUB && @counts && !@endpoints.empty? &&
          endpoints.all? { |endpoint| endpoint.start_with?("inproc:") } && !closed?
      end

      def too_few(now, count)
        return "#{now} of #{count} peers are connected" unless type == :PUB
        "a PUB waits for subscriptions, and #{now} of #{count} have come: a SUB sends one for " \
        "each topic that it subscribes to"
      end

      def untold
        Errors.build(UnsupportedError, :wait_connected, endpoints.first,
          "libzmq does not report peers over inproc; there a connection is made at once")
      end

      def not_counted
        StateError.new(
          "wait_connected: peers are counted from the first endpoint to the first message " \
            "(call it before any send or " \
            "recv#{"; a #{type} counts with count_peers: true" unless @counts})",
          operation: :wait_connected
        )
      end
    end
  end
end
