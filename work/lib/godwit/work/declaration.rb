# frozen_string_literal: true

module Godwit
  module Work
    # Checks what {Client#topic} gets.
    # @private
    module Declaration
      LIMITS = {seconds: Numeric, bytes: Integer}.freeze
      private_constant :LIMITS

      module_function

      # @raise [ArgumentValueError]
      def check(name, partitions, partitioner)
        unless name.is_a?(String) && name.match?(/\A[\w.-]{1,200}\z/)
          raise Godwit::Errors.bad_value(:topic, "name", "a String of 1 to 200 letters, digits, " \
            "\".\", \"_\" and \"-\"", name)
        end
        if partitions && !(partitions.is_a?(Integer) && partitions.between?(1, 10_000))
          raise Godwit::Errors.bad_value(:topic, "partitions:", "1 to 10000", partitions)
        end
        return if [nil, *Partitioner::NAMES].include?(partitioner)
        raise Godwit::Errors.bad_value(:topic, "partitioner:", ":crc32 or :murmur2", partitioner)
      end

      # @param retain [Numeric, Hash, nil]
      # @return [Hash{Symbol => Numeric, nil}] `retain:` and `retain_bytes:`
      def limits(retain)
        limits = retain.is_a?(Numeric) ? {seconds: retain} : retain || {}
        if limits.is_a?(Hash) && (limits.any? || retain.nil?) &&
            limits.all? { |name, value| limit?(value, LIMITS[name]) }
          return {retain: limits[:seconds], retain_bytes: limits[:bytes]}
        end
        raise Godwit::Errors.bad_value(:topic, "retain:", "seconds, more than 0, nil, or " \
          "{seconds: 86_400, bytes: 1 << 30} or one of both", retain)
      end

      def limit?(value, kind) = !kind.nil? && value.is_a?(kind) && value.positive?
      private_class_method :limit?
    end
  end
end
