# frozen_string_literal: true

module Godwit
  class Beacon
    # What the arguments may be.
    # @private
    module Check
      module_function

      def port(value)
        raise Errors.bad_type(:beacon, "the port", "an Integer", value) unless value.is_a?(Integer)
        unless value.between?(1, 65_535)
          raise Errors.bad_value(:beacon, "the port", "1 to 65535", value)
        end
      end

      def interface(value)
        return if value.nil? || (value.is_a?(String) && !value.empty?)
        raise Errors.bad_type(
          :beacon, "interface:",
          "a name such as eth0, an IPv4 address of this machine, \"*\", or nil", value
        )
      end

      def limit(value)
        return if value.is_a?(Integer) && value.positive?
        raise Errors.bad_value(:beacon, "limit:", "a number of beacons, 1 or more", value)
      end

      # @return [Integer, Float]
      def interval(value)
        unless value.is_a?(Numeric) && value.real?
          raise Errors.bad_type(:beacon, "interval", "a number of seconds", value)
        end
        seconds = value.is_a?(Integer) ? value : value.to_f
        return seconds if (SHORTEST..Timeout::MOST).cover?(seconds)
        raise Errors.bad_value(:beacon, "interval", "#{SHORTEST} seconds or more", value)
      end

      # @return [String] a frozen copy, binary
      def payload(value)
        unless value.is_a?(String)
          raise Errors.bad_type(
            :publish, "the payload", "a String of 1 to #{MOST_BYTES} bytes", value
          )
        end
        return value.b.freeze if value.bytesize.between?(1, MOST_BYTES)
        raise Errors.bad_value(:publish, "the payload", "1 to #{MOST_BYTES} bytes", value.bytesize)
      end

      # @return [String] a frozen copy, binary
      def prefix(value)
        unless value.is_a?(String)
          raise Errors.bad_type(:subscribe, "the prefix", "a String", value)
        end
        return value.b.freeze if value.bytesize <= MOST_BYTES
        raise Errors.bad_value(
          :subscribe, "the prefix", "up to #{MOST_BYTES} bytes, since no beacon is longer",
          value.bytesize
        )
      end
    end
  end
end
