# frozen_string_literal: true

module Godwit
  class Beacon
    # Checks the arguments of a Beacon's methods.
    # @private
    module Check
      module_function

      def port(value)
        raise Errors.bad_type(:beacon, "the port", "an Integer", value) unless value.is_a?(Integer)
        return if value.between?(1, 65_535)
        raise Errors.bad_value(:beacon, "the port", "1 to 65535", value)
      end

      def interface(value)
        return if value.nil? || (value.is_a?(String) && !value.empty?)
        allowed = "a name such as eth0, an IPv4 address of this machine, \"*\", or nil"
        raise Errors.bad_type(:beacon, "interface:", allowed, value)
      end

      def interval(value)
        unless value.is_a?(Numeric) && value.real?
          raise Errors.bad_type(:beacon, "interval", "a number of seconds", value)
        end
        seconds = value.is_a?(Integer) ? value : value.to_f
        return seconds if (SHORTEST..Timeout::MAX).cover?(seconds)
        raise Errors.bad_value(:beacon, "interval", "#{SHORTEST} seconds or more", value)
      end

      def payload(value) = bytes(:publish, "the payload", "1 to #{MAX_BYTES} bytes", 1, value)
      def prefix(value) = bytes(:subscribe, "the prefix", "up to #{MAX_BYTES} bytes", 0, value)

      def bytes(operation, name, allowed, least, value)
        unless value.is_a?(String)
          raise Errors.bad_type(operation, name, "a String of #{allowed}", value)
        end
        return value.b.freeze if value.bytesize.between?(least, MAX_BYTES)
        raise Errors.bad_value(operation, name, allowed, value.bytesize)
      end
    end
  end
end
