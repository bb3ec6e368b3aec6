# frozen_string_literal: true

require "ipaddr"

module Godwit
  class Auth
    # The addresses and user ids of `allow` or `deny` for one domain. Frozen.
    class Addresses
      FORM = %r{\A[\h.:]+(?:/\d{1,3})?\z}
      # An IPv4 address within IPv6 follows 96 bits, of which the last 16 are ones.
      MAPPED_BITS = 96
      MAPPED = 0xffff
      MAX_UID = 0xffffffff

      def self.make(operation, addresses, uid)
        uids = uid.is_a?(Array) ? uid : [uid].compact
        if addresses.empty? && uids.empty?
          raise Errors.of(ArgumentValueError, operation,
            "give an IP address, a range such as \"10.0.0.0/8\", or uid:")
        end
        uids.each do |number|
          next if number.is_a?(Integer) && number.between?(0, MAX_UID)
          raise Errors.bad_value(operation, "uid:", "user ids, 0 to #{MAX_UID}", number)
        end
        new(addresses.map { |address| range(operation, address) }, uids)
      end

      # @return [Array(Integer, Integer, Integer)] address bits, network number, low bits to ignore
      def self.range(operation, address)
        raise ::ArgumentError unless address.is_a?(String) && address.match?(FORM)
        ip = IPAddr.new(address)
        # IPAddr masks ::ffff:10.0.0.0/8 to ::/8, which is no range of IPv4 addresses.
        mapped = IPAddr.new(address[/[^\/]+/]).ipv4_mapped?
        raise ::ArgumentError if mapped && ip.prefix < MAPPED_BITS
        bits = ip.ipv4? ? 32 : 128
        number, ignored = ip.to_i, bits - ip.prefix
        if bits == 128 && ip.prefix >= MAPPED_BITS && number >> 32 == MAPPED
          bits = 32
          number &= 0xffffffff
        end
        [bits, number >> ignored, ignored]
      rescue ::ArgumentError
        raise Errors.bad_value(operation, "an address",
          "an IP address such as \"::1\", or a range such as \"10.0.0.0/8\"", address), cause: nil
      end

      # Parses an address of libzmq. Returns [bits of the family, the address as a number], or nil.
      def self.parse(text)
        text = text.sub(/%[^%]*\z/, "") # drops the interface of a link-local address
        return unless text.ascii_only? && text.match?(/\A[\h.:]{2,45}\z/)
        ip = IPAddr.new(text)
        number = ip.to_i
        return [32, number] if ip.ipv4?
        (number >> 32 == MAPPED) ? [32, number & 0xffffffff] : [128, number]
      rescue ::ArgumentError
        nil
      end

      def initialize(ranges, uids)
        @ranges = ranges.uniq.freeze
        @uids = uids.to_h { |uid| [uid, true] }.freeze
        freeze
      end

      def +(other) = Addresses.new(@ranges + other.ranges, @uids.keys + other.uids.keys)

      # The system's user id decides about an ipc peer, the address about all others.
      def match?(request)
        return @uids.key?(request.uid) if request.ipc?
        bits, number = request.ip
        @ranges.any? do |family, network, ignored|
          family == bits && number >> ignored == network
        end
      end

      protected

      attr_reader :ranges, :uids
    end
    private_constant :Addresses
  end
end
