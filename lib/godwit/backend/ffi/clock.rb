# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A deadline is a time in seconds on the monotonic clock; nil is never, 0 is at once.
    module Clock
      module_function

      # @param milliseconds [Integer, nil] below 0: for ever; nil: `otherwise`
      def deadline(milliseconds, otherwise = -1)
        milliseconds ||= otherwise
        return nil if milliseconds < 0
        milliseconds.zero? ? 0 : Runtime.now + milliseconds / 1000.0
      end

      def passed?(deadline) = !deadline.nil? && (deadline.zero? || Runtime.now >= deadline)

      def remaining(deadline) = deadline && [deadline - Runtime.now, 0].max
    end
  end
end
