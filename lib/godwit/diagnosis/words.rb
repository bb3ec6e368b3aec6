# frozen_string_literal: true

module Godwit
  class Diagnosis
    # The texts of the findings. docs/monitor.md has the table of reasons.
    module Words
      # The types that each socket type can talk to.
      PARTNERS = {
        REQ: "REP or ROUTER", REP: "REQ or DEALER", DEALER: "ROUTER, REP or DEALER",
        ROUTER: "DEALER, REQ or ROUTER", PUB: "SUB or XSUB", SUB: "PUB or XPUB",
        XPUB: "SUB or XSUB", XSUB: "PUB or XPUB", PUSH: "PULL", PULL: "PUSH", PAIR: "PAIR",
        CLIENT: "SERVER", SERVER: "CLIENT", RADIO: "DISH", DISH: "RADIO", SCATTER: "GATHER",
        GATHER: "SCATTER", PEER: "PEER", CHANNEL: "CHANNEL"
      }.freeze
      SAME = "give both sides the same security: curve: and server_key:, or plain:, or none"
      CORRECT = "correct it, and connect a new socket, since libzmq does not try again"
      SUBSCRIBERS = %i[SUB XSUB].freeze
      # Inside, a REP of Godwit is libzmq's ROUTER, a PUB its XPUB: so they announce these types.
      GODWIT_S = {ROUTER: ", or a REP of Godwit", XPUB: ", or a PUB of Godwit"}.freeze

      module_function

      # @param since [Float, nil] seconds since the first connection; nil: more than `heard` seconds
      # @param heard [Float] seconds since the diagnosis began
      def connected(socket, count, sends, since, heard)
        peers = "connected to #{count} #{(count == 1) ? "peer" : "peers"} for " \
          "#{"more than " unless since}#{(since || heard).round(1)} s"
        return full(socket, count, peers) if sends
        Finding.new(:silent, nil, "the peer is silent", if SUBSCRIBERS.include?(socket.type)
          "#{peers}, and nothing came; messages that were published before the subscription are " \
          "lost: use wait_connected at the publisher before its first message"
        else
          "#{peers}; #{(count == 1) ? "it has" : "they have"} sent nothing"
        end)
      end

      def full(socket, count, peers)
        Finding.new(:full, nil, "the peer reads too slowly", "#{peers}, but " \
          "#{(count == 1) ? "its queue is" : "their queues are"} full (send_hwm: " \
          "#{socket.send_hwm}): the peer has to read faster")
      end

      # @param ago [Float, nil] seconds since the last peer departed
      def no_peer(ago)
        since = " since the last one left, #{ago.round(1)} s ago" if ago
        Finding.new(:no_peer, nil, "no peer",
          "the socket has no peer#{since}; one side must bind, the other must connect")
      end

      # @param peek [Peek, nil] the peer's greeting, if it was read
      def failure(socket, link, peek)
        endpoint = link.endpoint
        case link.failure
        when :refused then refused(endpoint)
        when :no_address then no_address(endpoint)
        when :no_answer then no_answer(endpoint)
        when :types
          link.bound? ? departed(socket, endpoint) : types(socket, endpoint, peek&.type)
        when :handshake_failed_auth then denied(endpoint, link.event.status, link.bound?)
        when :handshake_failed_protocol then protocol(socket, link, peek)
        else closed(socket, link)
        end
      end

      def refused(endpoint)
        Finding.new(:refused, endpoint, "connection refused",
          "connection refused at #{endpoint}: nobody listens there; is the server started? If " \
            "both sides connect, one side must bind")
      end

      def no_address(endpoint)
        host = OpenConnections.host_of(endpoint)
        Finding.new(:no_address, endpoint, "no address for #{host}",
          "no address for #{host}: check the name, DNS and /etc/hosts")
      end

      def no_answer(endpoint)
        Finding.new(:no_answer, endpoint, "no answer",
          "no answer from #{endpoint}: is the host up, and does a firewall drop the connection?")
      end

      # @param peer [Symbol, nil] the peer's type; nil: unknown
      def types(socket, endpoint, peer)
        cause = "the peer at #{endpoint} ended the handshake; maybe its type does not fit"
        cause = "the peer at #{endpoint} is #{type(peer)}#{GODWIT_S[peer]}" if peer
        Finding.new(:types, endpoint, "socket types do not fit", "#{cause}: #{talks(socket)}")
      end

      # The finding for a peer that departed from a bound socket; its type is unknown.
      def departed(socket, endpoint)
        Finding.new(:types, endpoint, "socket types do not fit",
          "a peer connected to #{endpoint}, and the handshake ended; maybe its type does not " \
            "fit: #{talks(socket)}")
      end

      def talks(socket)
        "#{type(socket.type)} talks to #{PARTNERS.fetch(socket.type, "any program over TCP")}"
      end

      def type(name) = "#{name.start_with?("X") ? "an" : "a"} #{name}"

      def denied(endpoint, status, bound)
        why = Monitor::STATUSES.fetch(status.to_i, "the authenticator refused the peer")
        fix = CORRECT
        fix = "libzmq tries again" if status.to_i == 300
        fix = "see the rules of the Godwit::Auth" if bound
        handshake(:denied, endpoint, "#{why} (status #{status})", fix)
      end

      def handshake(reason, endpoint, why, fix)
        Finding.new(reason, endpoint, "handshake failed",
          "the handshake at #{endpoint} failed, since #{why}: #{fix}")
      end

      def protocol(socket, link, peek)
        case link.event.protocol_error
        when :zmtp_mechanism_mismatch
          mechanism(socket, link.endpoint, link.bound?, peek&.mechanism)
        when :zmtp_cryptographic
          handshake(:wrong_key, link.endpoint, "the keys do not match",
            "the client's server_key: has to be the server's public key")
        else
          handshake(:handshake, link.endpoint, link.event.reason, SAME)
        end
      end

      def mechanism(socket, endpoint, bound, other)
        mine = socket.mechanism.to_s.upcase
        why = "this side uses #{mine}, and #{bound ? "a client" : "the server"} " \
          "#{other ? "uses #{other}" : "does not"}"
        handshake(:security, endpoint, why, SAME)
      end

      # The finding for a handshake in which the peer closed the connection.
      def closed(socket, link)
        endpoint = link.endpoint
        if link.bound? && link.event.value == Errno::EFAULT::Errno
          return handshake(:no_auth, endpoint, "no authenticator runs, and the server needs " \
            "one", needs_auth(socket) || "a Godwit::Auth must run in this context")
        end
        why = "the peer closed the connection without a reason"
        if link.bound?
          return handshake(:handshake, endpoint, why, needs_auth(socket) || "see its error")
        end
        if socket.mechanism == :curve
          handshake(:handshake, endpoint, why,
            "maybe server_key: is not the server's public key, or the server does not allow this " \
            "client's key, or has auth: without a Godwit::Auth")
        else
          handshake(:handshake, endpoint, why, "maybe no ZeroMQ socket is bound there, or the " \
            "server has auth: without a Godwit::Auth")
        end
      end

      def needs_auth(socket)
        "a Godwit::Auth must run in this context" unless socket.zap_domain.to_s.empty?
      end

      # The finding for a peer that does not go on with the handshake.
      def pending(socket, endpoint, bound)
        if bound
          handshake(:handshake, endpoint, "a connected peer does not end it",
            needs_auth(socket) || "maybe the peer is no ZeroMQ socket")
        else
          handshake(:handshake, endpoint, "the peer accepts the connection and does not answer",
            "maybe no ZeroMQ socket is bound there, or the server has auth: without a Godwit::Auth")
        end
      end

      # @return [Finding, nil] the reason that follows from the peer's greeting; nil: none
      def peeked(socket, endpoint, peek)
        return foreign(endpoint) if peek.zmtp? == false
        other = peek.mechanism or return
        return mechanism(socket, endpoint, false, other) if other != socket.mechanism.to_s.upcase
        return types(socket, endpoint, peek.type) if peek.type && !fits?(socket, peek.type)
        denied(endpoint, peek.refusal, false) if peek.refusal
      end

      def foreign(endpoint)
        handshake(:handshake, endpoint, "the program there does not speak ZMTP 3, ZeroMQ's " \
          "protocol", "is it the right port?")
      end

      def fits?(socket, peer) = PARTNERS[socket.type].to_s.split(/\W+/).include?(peer.to_s)
    end
  end
end
