# frozen_string_literal: true

module Godwit
  module Options
    # Converts option values between Ruby and libzmq.
    # @private
    module Values
      INT_MAX = 0x7fff_ffff
      INT64_MAX = 0x7fff_ffff_ffff_ffff
      MAX = {
        int: INT_MAX, duration: INT_MAX, prefix: INT_MAX, id32: 0xffff_ffff, int64: INT64_MAX,
        uint64: Runtime::MAX_UINT64
      }.freeze
      # The number is a String, since an Integer of mruby cannot be so large.
      MAX_UINT64 = "18446744073709551615"

      def self.encode(option, value)
        if value.nil?
          raise option.refusal(value) if option.none.nil? || option.none_reads
          return (option.none == :null) ? nil : option.none
        end
        raw =
          case option.type
          when :bool then {true => 1, false => 0}[value]
          when :duration then encode_duration(option, value)
          when :enum
            option.values[value.to_s.to_sym] if value.is_a?(Symbol) || value.is_a?(String)
          when :flags then encode_flags(option, value)
          when :text, :bytes then encode_string(option, value)
          when :key then encode_key(value)
          when :prefix
            value.is_a?(String) ? encode_prefix(option, value) : encode_integer(option, value)
          when :id32 then encode_integer(option, value)&.then { |id| [id].pack("L") }
          else encode_integer(option, value)
          end
        raw.nil? ? raise(option.refusal(value)) : raw
      end

      def self.decode(option, raw)
        case option.type
        when :text, :bytes then decode_string(option, raw)
        when :key then decode_key(raw)
        when :enum then option.values.key(raw) || raw
        when :flags then option.values.select { |_, bit| raw & bit == bit }.keys
        else
          return nil if raw == option.none
          case option.type
          when :bool then raw != 0
          when :duration then (option.unit == "s") ? raw : raw / 1000.0
          else raw
          end
        end
      end

      def self.allowed(option)
        words = case option.type
        when :bool then "true or false"
        when :duration then allowed_duration(option)
        when :enum then "one of #{option.values.keys.map(&:inspect).join(", ")}"
        when :flags then "an Array of any of #{option.values.keys.map(&:inspect).join(", ")}"
        when :text then "a String of #{lengths(option)} without NUL#{shape(option)}"
        when :bytes then "a String of #{lengths(option)}#{shape(option)}"
        when :key then "a CURVE key: 40 characters of Z85 or 32 raw bytes"
        when :prefix then "an Integer from 0 to #{INT_MAX}, or a String of #{lengths(option)}"
        else allowed_integer(option)
        end
        (option.none.nil? || option.none_reads) ? words : "#{words}, or nil (#{option.none_means})"
      end

      def self.max(option) = ((option.type == :prefix) ? nil : option.max) || MAX.fetch(option.type)

      # The operators of mruby 3.1 compare Integers from 2**62 on wrongly; `<=>` does not.
      def self.encode_integer(option, value)
        return unless value.is_a?(Integer)
        min = (option.type == :prefix) ? 0 : option.min || 0
        value if (value <=> min) != -1 && (value <=> max(option)) != 1
      end

      # Rounds to libzmq's unit and step, but never a positive value to 0. In mruby a Float's last
      # two bits are 0, so 0.0015 * 1000 is less than 1.5; 1 + 1e-14 corrects that.
      def self.encode_duration(option, value)
        return unless Timeout.number?(value) && value.finite?
        return unless value.between?(0, MAX.fetch(:duration))
        raw = (value * ((option.unit == "s") ? 1 : 1000) * (1 + 1e-14)).round
        raw = (2 * raw + option.step).div(2 * option.step) * option.step if option.step > 1
        raw = option.step if raw.zero? && value.positive?
        raw if raw <= max(option)
      end

      def self.encode_flags(option, value)
        flags = value.is_a?(Symbol) ? [value] : value
        return unless flags.is_a?(Array) && flags.all? { |flag| option.values.key?(flag) }
        flags.map { |flag| option.values[flag] }.reduce(0, :|)
      end

      def self.encode_string(option, value)
        return unless value.is_a?(String) && value.bytesize.between?(option.min, option.max)
        bytes = value.b
        return if option.type == :text && bytes.include?("\0")
        return if option.format && !fits?(option.format, bytes)
        bytes
      end

      def self.fits?(format, bytes)
        return bytes.getbyte(0) != 0 if format == :routing_id
        name, value = bytes.split(":", 2)
        name.start_with?("X-") && name.bytesize.between?(3, 255) && !value.to_s.empty? &&
          !value.include?("\n")
      end

      # Appends a NUL to a String of four bytes, which libzmq would read as an int.
      def self.encode_prefix(option, value)
        return unless value.bytesize.between?(option.min, option.max) && !value.b.include?("\0")
        # Only zmq_ctx_set_ext accepts Strings, and only a libzmq with drafts has this function.
        unless Godwit.has?(:draft)
          raise option.error("takes a String only with a libzmq built with drafts, else an Integer",
            UnsupportedError)
        end
        (value.bytesize == 4) ? "#{value.b}\0".b : value.b
      end

      def self.encode_key(value)
        return unless value.is_a?(String)
        return value.b if value.bytesize == 32
        Z85.decode(value).b if value.bytesize == 40
      rescue ArgumentValueError
        nil
      end

      def self.decode_string(option, raw)
        return nil if raw.nil? || (raw.empty? && option.none)
        return raw.b if option.type == :bytes
        Runtime.text(raw.delete_suffix("\0"))
      end

      # libzmq returns zeros for a key that was never set.
      def self.decode_key(raw)
        Z85.encode(raw) unless raw.nil? || raw.count("\0") == raw.bytesize
      end

      def self.allowed_integer(option)
        unit = option.unit ? " (#{option.unit})" : ""
        max = (option.type == :uint64) ? option.max || MAX_UINT64 : max(option)
        "an Integer from #{option.min || 0} to #{max}#{unit}"
      end

      def self.allowed_duration(option)
        scale = (option.unit == "s") ? 1 : 1000.0
        steps = (option.step > 1) ? ", in steps of #{option.step / scale}" : ""
        "seconds from 0 to #{max(option) / scale}#{steps}"
      end

      def self.lengths(option)
        (option.min == 0) ? "at most #{option.max} bytes" : "#{option.min} to #{option.max} bytes"
      end

      def self.shape(option) = option.format_means ? ", #{option.format_means}" : ""
    end
  end
end
