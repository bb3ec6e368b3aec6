# frozen_string_literal: true

module Edge
  # How errors that an app does not rescue are answered and logged.
  # @private
  module Failure
    OWN = ["edge/lib/", "lib/godwit/", "mruby/lib/"].freeze # whose lines say nothing to an app
    # The first class that fits.
    TABLE = [
      [BadRequest, 400, "bad_request"],
      [ConnectionError, 502, "bad_gateway"],
      [BusyError, 503, "busy"],
      [TimeoutError, 504, "timeout"],
      [Godwit::TimeoutError, 504, "timeout"],
      [Exception, 500, "internal"]
    ].freeze

    class << self
      def answer(number, error)
        return if error.is_a?(Cancelled)
        row = TABLE.find { |klass, _, _| error.is_a?(klass) }
        Edge._log(describe(error))
        Edge._fail(number, row[1], row[2], error.is_a?(BadRequest) ? error.offset : -1)
      end

      # @return [String] class, message, file:line
      def describe(error)
        lines = error.backtrace || []
        place = lines.find { |line| !line.start_with?(*OWN) } || lines.first
        text = error.message
        text = text.inspect unless text.is_a?(String)
        place ? "#{error.class}: #{text} (#{place})" : "#{error.class}: #{text}"
      end
    end
  end
end
