# frozen_string_literal: true

require "socket"

module Godwit
  module Perf
    # Names the connection to a host: "localhost", the speed of the interface such as "1Gig
    # Ethernet", or "Virtual" for an interface without a speed.
    # @private
    module Connection
      INTERFACES = "/sys/class/net"
      LOOPBACK = /\A(?:127\.|::1\z)/

      module_function

      def to(endpoint)
        local, remote = addresses(*endpoint.match(%r{\Atcp://\[?(.+?)\]?:(\d+)\z}).captures)
        return "localhost" if local == remote || remote.match?(LOOPBACK)
        speed(interface(local))
      end

      # The kernel chooses the route of a UDP socket's connect, which sends nothing.
      def addresses(host, port)
        Addrinfo.udp(host, port).connect do |socket|
          [socket.local_address.ip_address, socket.remote_address.ip_address]
        end
      end

      def interface(address)
        ::Socket.getifaddrs.find do |found|
          found.addr&.ip? && found.addr.ip_address == address
        end&.name
      end

      def speed(interface)
        megabits = Integer(File.read(File.join(INTERFACES, interface.to_s, "speed")))
        return "Virtual" unless megabits.positive?
        return "#{megabits}Mbit Ethernet" if megabits < 1_000
        "#{format("%g", megabits / 1_000.0)}Gig Ethernet"
      rescue SystemCallError, ArgumentError # the interface has none
        "Virtual"
      end
      private_class_method :addresses, :interface, :speed
    end
    private_constant :Connection
  end
end
