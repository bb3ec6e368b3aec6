# frozen_string_literal: true

module Godwit
  class Socket
    # Counts peers, against slow joiners: a PUB drops messages that have no subscriber, and the
    # first worker of a PUSH gets all the messages that are sent before the second connects.
    #
    # A PUB counts subscriptions. The other types listen to libzmq's monitor from their first
    # endpoint until their first message. The monitor costs two descriptors, so REQ, REP, DEALER,
    # ROUTER, PAIR, STREAM and most draft types count only with `count_peers: true`. (A RADIO learns
    # a DISH's groups some time after the handshake.)
    module Peers
      COUNTING = %i[PUB XPUB SUB XSUB PUSH PULL SCATTER GATHER].freeze
      private_constant :COUNTING

      # Waits until peers have done their handshake; on a PUB, until there are subscriptions (a
      # peer's second subscription to a topic counts too). A bound SUB subscribes at a new peer in
      # its next `recv` or `wait_connected`. Any number of threads and fibers may wait.
      #
      # Except on a PUB the count may be wrong, since libzmq does not tell whose handshake succeeded
      # or failed. The count includes peers lost by {#disconnect} or {#unbind}, a PAIR's second
      # peer, and a peer that a ROUTER refuses for its routing id. A refused peer, or a malformed
      # handshake, may hide or imitate the departure of a peer.
      # @param count [Integer] least number of peers
      # @param timeout [Integer, Float, nil] seconds; nil: for ever
      # @return [self]
      # @raise [TimeoutError] when time is up
      # @raise [StateError] when peers were not counted: after the first message, or without
      #   `count_peers: true`
      # @raise [UnsupportedError] when all endpoints are inproc, except on a PUB
      def wait_connected(count: 1, timeout: nil)
        Errors.check_positive(:wait_connected, "count:", "a number of peers, 1 or more", count)
        milliseconds = Timeout.milliseconds(timeout)
        raise unreported if unreported?
        now = _wait_peers(count, milliseconds) or raise not_counted
        return self if now >= count
        raise Errors.build(TimeoutError, :wait_connected, endpoints.join(", "),
          ErrorHints.too_few_peers(self, too_few(now, count)))
      end

      # @private
      def self.check(_socket, wanted) = wanted

      # @private
      def self.start(socket, wanted)
        socket.__send__(:count_peers, wanted)
      end

      private

      def count_peers(wanted)
        @counts = wanted.nil? ? COUNTING.include?(type) : wanted
        _count_peers if @counts
      end

      def known_peers
        _wait_peers(0, 0) unless type == :PUB || unreported? || closed?
      rescue Error
        nil # a proxy uses the socket, or its context was closed
      end

      # libzmq's monitor reports no peers over inproc.
      def unreported?
        type != :PUB && @counts && !@endpoints.empty? &&
          endpoints.all? { |endpoint| endpoint.start_with?("inproc:") } && !closed?
      end

      def too_few(now, count)
        return "#{now} of #{count} peers are connected" unless type == :PUB
        "a PUB waits for subscriptions, and #{now} of #{count} have come: a SUB sends one for " \
        "each topic that it subscribes to"
      end

      def unreported
        Errors.build(UnsupportedError, :wait_connected, endpoints.first,
          "libzmq reports no peers over inproc; there a connection stands at once")
      end

      def not_counted
        also = "; a #{type} counts with count_peers: true" unless @counts
        Errors.of(StateError, :wait_connected, "peers are counted from the first endpoint to the " \
          "first message (call it before any send or recv#{also})")
      end
    end
  end
end
