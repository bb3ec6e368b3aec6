# frozen_string_literal: true

module Godwit
  module Work
    # Checks the arguments of {Client#topic}, and the names of groups.
    # @private
    module Declaration
      module_function

      def check(name, partitions, partitioner)
        unless name.is_a?(String) && name.b.match?(/\A[\w.-]{1,200}\z/n)
          raise Godwit::Errors.bad_value(:topic, "name", "a String of 1 to 200 letters, digits, " \
            "\".\", \"_\" and \"-\"", name)
        end
        if partitions && !(partitions.is_a?(Integer) && partitions.between?(1, 10_000))
          raise Godwit::Errors.bad_value(:topic, "partitions:", "1 to 10000", partitions)
        end
        return if [nil, *Partitioner::NAMES].include?(partitioner)
        raise Godwit::Errors.bad_value(:topic, "partitioner:", ":crc32 or :murmur2", partitioner)
      end

      # @param operation [Symbol] for the error
      # @return [String] the name of a group, in UTF-8
      # @raise [ArgumentValueError]
      def group(operation, name)
        # SQLite would store a binary String as a blob. Kafka's functions end a name at a NUL.
        text = name.encode(Encoding::UTF_8) if name.is_a?(String)
        raise EncodingError unless text&.valid_encoding? && text.match?(/\A[^\0]+\z/)
        text
      rescue EncodingError
        raise Godwit::Errors.bad_value(operation, "group", "a String of valid characters", name)
      end

      # @param retain [Numeric, Hash, nil] seconds, or `seconds:` and `bytes:`; nil: no limit
      # @return [Hash{Symbol => Numeric, nil}] `retain:` and `retain_bytes:`
      def limits(retain)
        return {retain: nil, retain_bytes: nil} if retain.nil?
        limits = retain.is_a?(Hash) ? retain : {seconds: retain}
        if limits.any? && limits.all? { |name, value| limit?(name, value) }
          return {retain: finite(limits[:seconds]), retain_bytes: finite(limits[:bytes])}
        end
        raise Godwit::Errors.bad_value(:topic, "retain:", "seconds, more than 0, nil, or " \
          "{seconds: 86_400, bytes: 1 << 30} or one of both", retain)
      end

      def limit?(name, value)
        return false unless finite(value)&.positive?
        name == :seconds || (name == :bytes && value.is_a?(Integer))
      end
      private_class_method :limit?

      NAME = Module.instance_method(:name) # a class may define its own method `name`

      # @return [Boolean] whether the class's constant is removed, or names another class
      def replaced?(klass)
        names = NAME.bind_call(klass)&.split("::") or return false
        found = names.inject(Object) do |scope, name|
          return true if !scope.const_defined?(name, false) || scope.autoload?(name, false)
          scope.const_get(name, false)
        end
        !found.equal?(klass)
      rescue NameError # the name of a class in an anonymous module is no constant's name
        false
      end

      # @param value [Object] also a Rational or an ActiveSupport::Duration
      # @return [Integer, Float, nil] the same number; nil: the value is no finite real number
      def finite(value)
        return unless value.is_a?(Numeric) && value.real?
        number = value.to_f
        return unless number.finite?
        (number % 1).zero? ? value.to_i : number
      end
    end
  end
end
