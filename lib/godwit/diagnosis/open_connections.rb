# frozen_string_literal: true

require "socket"

module Godwit
  class Diagnosis
    # Reads this process's connections from the kernel, for a diagnosis that missed libzmq's events.
    module OpenConnections
      FOLDER = "/proc/self/fd"
      ANY = %w[0.0.0.0 ::].freeze
      BYTES = (120...136) # offsets of bytes_acked and bytes_received in struct tcp_info
      # Most bytes that a peer sends in an unfinished handshake, by mechanism; the greeting has 64.
      HANDSHAKE_BYTES = {null: 66, plain: 76, curve: 240}.freeze

      module_function

      # @param mechanism [Symbol] the socket's; it decides how many bytes a handshake has
      # @param known [Hash{Integer => Object}] its keys are descriptors to leave out
      # @return [Array<Boolean>, nil] for each connection of these endpoints, whether its number of
      #   bytes shows a complete handshake; nil: unknown, as over inproc or on JRuby
      def handshakes(links, mechanism, known)
        matchers = links.map { |endpoint, bound| matcher(endpoint, bound) }
        found = all(known) unless matchers.include?(nil)
        found&.select { |mine, other, _| matchers.any? { |matcher| matcher.call(mine, other) } }
          &.map { |_, _, bytes| bytes.nil? || bytes > HANDSHAKE_BYTES.fetch(mechanism, 0) }
      end

      def literal?(endpoint) = !address_of(host_of(endpoint)).nil?

      # @return [String, nil] the IP address of a descriptor's peer; nil: the descriptor is closed
      def peer(number)
        other = facts(number)&.fetch(1)
        other.ip_address if other&.ip?
      end

      def matcher(endpoint, bound)
        transport, address = endpoint.split("://", 2)
        case transport
        when "tcp" then tcp(endpoint, bound)
        when "ipc"
          path = address.sub(/\A@/, "\0").b
          ->(mine, other) { bound ? unix(mine) == path : unix(other) == path }
        end
      end

      def tcp(endpoint, bound)
        port = Endpoint.port(endpoint)
        host = address_of(host_of(endpoint)) unless bound
        lambda do |mine, other|
          address = bound ? mine : other
          address.ip? && address.ip_port == port &&
            (host.nil? || host == address_of(address.ip_address))
        end
      end

      def unix(address) = address.unix? ? address.unix_path.b : nil

      # @return [String] the endpoint's host, such as b in "tcp://a;b:5555", where a is the source
      def host_of(endpoint)
        endpoint.split("://", 2).last.split(";").last.rpartition(":").first.delete("[]")
      end

      # @return [String, nil] the IP address in its normal form; nil for a name, 0.0.0.0 and ::
      def address_of(host)
        return unless host.match?(/\A[\h.:]+\z/) && host.match?(/[.:]/)
        # The flag prevents a DNS query: the pattern also matches a name such as "cafe.de".
        flags = ::Socket::AI_NUMERICHOST
        text = Addrinfo.getaddrinfo(host, nil, nil, :STREAM, nil, flags).first.ip_address
          .delete_prefix("::ffff:")
        text unless ANY.include?(text)
      rescue SocketError
        nil
      end

      def all(known)
        return if RUBY_ENGINE == "jruby"
        Dir.children(FOLDER).filter_map { |name| facts(name.to_i) unless known.key?(name.to_i) }
      rescue SystemCallError
        nil
      end

      # Returns own address, peer and bytes of a descriptor, which libzmq may close at any time.
      def facts(number)
        own, other, info = Backend::IMPLEMENTATION.connection(number)
        return unless other
        other = Addrinfo.new(other)
        [Addrinfo.new(own), other, (bytes(info) if info && other.ip?)]
      rescue SystemCallError, SocketError, ArgumentError
        nil # an address of a family that Addrinfo does not know
      end

      # @return [Integer, nil] bytes sent or bytes received, whichever are fewer
      def bytes(info)
        info[BYTES].unpack("QQ").min if info.bytesize >= BYTES.end
      end
    end
  end
end
