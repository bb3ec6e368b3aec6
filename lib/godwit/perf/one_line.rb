# frozen_string_literal: true

module Godwit
  module Perf
    # Makes the `inspect` of a result, which `p` and irb show. The including class defines
    # `summary`.
    module OneLine
      def inspect = "#<#{self.class} #{summary}>"
      alias_method :to_s, :inspect
      def pretty_print(printer) = printer.text(inspect)

      private

      def trips(histogram)
        return "no reply" if histogram.nil? || histogram.count.zero?
        format("p50 %.1f us, p99 %.1f us", *[50, 99].map { |one| histogram.percentile(one) * 1e6 })
      end
    end
    private_constant :OneLine
  end
end
