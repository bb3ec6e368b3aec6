# frozen_string_literal: true

require "socket"

module Godwit
  module TestSupport
    # Ports that are free and stay free. The kernel never assigns them to sockets that bind to port
    # 0 or connect, as the tests of other stages do at the same time.
    module Ports
      # Linux assigns ports from this number upwards by default.
      USUAL = 32_768
      LOWEST = 10_000
      # Not Kernel#rand: Minitest seeds it, so all stages of a run would choose the same ports.
      RANDOM = Random.new
      private_constant :RANDOM

      module_function

      # @param count [Integer] the number of consecutive ports
      # @param socket [Class] TCPServer, or UDPSocket
      # @return [Integer] the first port
      def free(count = 1, socket: TCPServer)
        loop do
          first = RANDOM.rand(LOWEST..highest - count)
          return first if (first...first + count).all? { |port| free?(port, socket) }
        end
      end

      def free?(port, socket = TCPServer)
        if socket == TCPServer
          TCPServer.new("127.0.0.1", port).close
        else
          UDPSocket.new.tap { |udp| udp.bind("127.0.0.1", port) }.close
        end
        true
      rescue Errno::EADDRINUSE
        false
      end

      def highest
        first = File.read("/proc/sys/net/ipv4/ip_local_port_range").to_i
        (first > LOWEST + 1000) ? first : USUAL
      end
    end
  end
end
