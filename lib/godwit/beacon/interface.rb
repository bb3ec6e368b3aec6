# frozen_string_literal: true

module Godwit
  class Beacon
    # A network interface that can broadcast, with one of its IPv4 addresses.
    # @private
    class Interface
      # Stands for the default route's.
      ANY = "*"

      # @return [String] such as "eth0"; "*"
      attr_reader :name
      # @return [String] to send from; "" with "*"
      attr_reader :address
      # @return [String] to send to
      attr_reader :broadcast

      class << self
        # @param wanted [String, nil] a name, an IPv4 address, "*"; nil: the first
        # @return [Interface]
        # @raise [InterfaceError] naming those that there are
        def choose(wanted)
          return new(ANY, "", "255.255.255.255") if wanted == ANY
          found = able.find { |one| wanted.nil? || one.name == wanted || one.address == wanted }
          found or raise Errors.build(InterfaceError, :beacon, nil, complaint(wanted))
        end

        private

        # @return [Array<Interface>] one for each address
        def able
          ::Socket.getifaddrs.filter_map do |one|
            next unless one.addr&.ipv4? && up?(one)
            address = one.addr.ip_address
            broadcast = broadcast_of(one, address)
            new(one.name, address, broadcast) if broadcast
          end
        end

        # Up, and no loopback. JRuby does not tell that one can broadcast, but only then an address
        # to broadcast to.
        def up?(one)
          flags = one.flags
          if flags.nobits?(::Socket::IFF_UP) ||
              flags.anybits?(::Socket::IFF_LOOPBACK | ::Socket::IFF_POINTOPOINT)
            return false
          end
          flags.anybits?(::Socket::IFF_BROADCAST) || (RUBY_ENGINE == "jruby" && !one.broadaddr.nil?)
        end

        # The system need not name it; a network of one or two addresses has none.
        def broadcast_of(one, address)
          return unless one.netmask&.ipv4?
          own, mask =
            [address, one.netmask.ip_address].map do |text|
              text.split(".").map(&:to_i).pack("C4").unpack1("N")
            end
          hosts = ~mask & 0xffff_ffff
          return if hosts < 3
          given = one.broadaddr
          return given.ip_address if given&.ipv4? && given.ip_address != "0.0.0.0"
          [own | hosts].pack("N").unpack("C4").join(".")
        end

        def complaint(wanted)
          found = able.map { |one| "#{one.name} (#{one.address})" }
          there =
            (
              if found.empty?
                "none does here: it must be up, with an IPv4 address, and no loopback"
              else
                "here: #{found.join(", ")}"
              end
            )
          what =
            wanted ? "no interface #{wanted.inspect} can broadcast" : "no interface can broadcast"
          "#{what}; #{there}"
        end
      end

      def initialize(name, address, broadcast)
        @name = name
        @address = address
        @broadcast = broadcast
        freeze
      end

      # @return [Boolean] whether beacons go the same way
      def same?(other)
        name == other.name && address == other.address && broadcast == other.broadcast
      end
    end
  end
end
