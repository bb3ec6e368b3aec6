# frozen_string_literal: true

module Edge
  # How errors that an app does not rescue are answered and logged.
  # @private
  module Failure
    # The first class that fits.
    TABLE = [
      [BadRequest, 400, "bad_request"],
      [ConnectionError, 502, "bad_gateway"],
      [BusyError, 503, "busy"],
      [TimeoutError, 504, "timeout"],
      [Godwit::TimeoutError, 504, "timeout"],
      [NoMemoryError, 503, "memory"],
      [Exception, 500, "internal"]
    ].freeze

    class << self
      def answer(error)
        row = row_of(error)
        Edge._log(describe(error)) unless Cancelled === error
      ensure
        Edge._fail(row[1], row[2], (BadRequest === error) ? error.offset : -1)
      end

      # @return [Array(Class, Integer, String)] of {TABLE}
      def row_of(error) = TABLE.find { |klass, _, _| klass === error }

      # @return [String] class, message, file:line
      def describe(error)
        lines = error.backtrace || []
        place = lines.find { |line| !Edge._own(line) } || lines.first
        text = message(error)
        text = text.inspect unless text.is_a?(String)
        place ? "#{error.class}: #{text} (#{place})" : "#{error.class}: #{text}"
      end

      private

      def message(error)
        error.message
      rescue => other
        "no message: #{other.class}"
      end
    end
  end
end
