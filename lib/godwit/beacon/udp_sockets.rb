# frozen_string_literal: true

module Godwit
  class Beacon
    # Two UDP sockets. The receiver is bound to all addresses. The sender is bound to the
    # interface's address, so that peers see an address that they can connect to. One thread at a
    # time uses them.
    # @private
    class UdpSockets
      # Most bytes of one receive: one more than a payload may have, to recognise longer datagrams.
      MAX = MAX_BYTES + 1

      def initialize(port, wanted)
        @port = port
        @wanted = wanted
        @interface = Interface.choose(wanted)
        @receiver = socket_at("0.0.0.0")
        @sender = sender(@interface)
      rescue
        close
        raise
      end

      attr_reader :interface, :receiver
      def broadcast(payload) = @sender.send(payload, 0, @target)

      # @return [Array(String, String), nil] address of the sender, payload; nil when there is none
      def receive
        payload, from = @receiver.recvfrom_nonblock(MAX, exception: false)
        [from.last, payload] unless payload == :wait_readable || payload.nil?
      end

      # Replaces the sending socket after a failure, if the interface has another address now.
      def recreate
        fresh = Interface.choose(@wanted)
        return if fresh == @interface
        old = @sender
        @sender = sender(fresh)
        @interface = fresh
        old.close unless old.equal?(@receiver)
      rescue Error, SystemCallError
        nil # the old socket stays: no such interface now, or no free descriptor
      end

      def close = [@receiver, @sender].each { |socket| socket&.close }

      private

      # Returns the socket that sends. With "*" the receiver sends too.
      def sender(interface)
        sender = interface.address.empty? ? @receiver : socket_at(interface.address)
        @target = ::Socket.sockaddr_in(@port, interface.broadcast).freeze
        sender
      end

      def socket_at(address)
        socket = UDPSocket.new
        socket.do_not_reverse_lookup = true
        %i[REUSEADDR REUSEPORT BROADCAST].each { |name| socket.setsockopt(:SOCKET, name, true) }
        socket.bind(address, @port)
        socket
      rescue SystemCallError => error
        socket&.close
        raise Errors.build(error.errno, :beacon, "udp://#{address}:#{@port}", advice(error))
      end

      def advice(error)
        case error
        when Errno::EADDRINUSE
          "a program holds this UDP port without SO_REUSEADDR and SO_REUSEPORT; take another port"
        when Errno::EACCES
          "a port below 1024 needs root; take one above"
        end
      end
    end
  end
end
