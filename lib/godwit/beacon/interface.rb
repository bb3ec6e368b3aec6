# frozen_string_literal: true

module Godwit
  class Beacon
    # A network interface that can broadcast, with one of its IPv4 addresses. A socket made for one
    # Interface serves an equal Interface too.
    # @private
    Interface = Struct.new(:name, :address, :broadcast) do
      class << self
        # `wanted` is a name, an IPv4 address, "*" (the default route) or nil (the first). The
        # result's `address` is the source of broadcasts ("" with "*"), `broadcast` the destination.
        def choose(wanted)
          return new("*", "", "255.255.255.255").freeze if wanted == "*"
          found = able.find { |one| wanted.nil? || one.name == wanted || one.address == wanted }
          found or raise Errors.build(InterfaceError, :beacon, nil, message(wanted))
        end

        private

        def able
          ::Socket.getifaddrs.filter_map do |one|
            next unless one.addr&.ipv4? && up?(one)
            address = one.addr.ip_address
            broadcast = broadcast_of(one, address)
            new(one.name, address, broadcast).freeze if broadcast
          end
        end

        # JRuby does not report IFF_BROADCAST. There an interface that has a broadcast address can
        # broadcast.
        def up?(one)
          flags = one.flags
          return false if flags.nobits?(::Socket::IFF_UP)
          return false if flags.anybits?(::Socket::IFF_LOOPBACK | ::Socket::IFF_POINTOPOINT)
          flags.anybits?(::Socket::IFF_BROADCAST) || (RUBY_ENGINE == "jruby" && !one.broadaddr.nil?)
        end

        # Returns the broadcast address, computed if the system does not report it. A network of one
        # or two addresses has none.
        def broadcast_of(one, address)
          return unless one.netmask&.ipv4?
          own, mask = [address, one.netmask.ip_address].map do |text|
            text.split(".").map(&:to_i).pack("C4").unpack1("N")
          end
          hosts = ~mask & 0xffff_ffff
          return if hosts < 3
          given = one.broadaddr
          return given.ip_address if given&.ipv4? && given.ip_address != "0.0.0.0"
          [own | hosts].pack("N").unpack("C4").join(".")
        end

        def message(wanted)
          found = able.map { |one| "#{one.name} (#{one.address})" }
          there = "none does here: it must be up, with an IPv4 address, and no loopback"
          there = "here: #{found.join(", ")}" if found.any?
          "no interface#{" #{wanted.inspect}" if wanted} can broadcast; #{there}"
        end
      end
    end
  end
end
