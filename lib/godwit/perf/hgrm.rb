# frozen_string_literal: true

module Godwit
  module Perf
    # HdrHistogram's text format for percentiles, which its plotters read. Values are microseconds.
    # @see http://hdrhistogram.github.io/HdrHistogram/plotFiles.html
    # @private
    module Hgrm
      TICKS = 5 # lines for each half of the distance to 100 %
      MICROSECONDS = 1e3 # nanoseconds in one
      TITLES = "       Value     Percentile TotalCount 1/(1-Percentile)"

      module_function

      def text(histogram)
        lines = [TITLES, "", *rows(histogram)]
        lines << format(
          "#[Mean    = %12.3f, StdDeviation   = %12.3f]",
          *[histogram.mean, histogram.standard_deviation].map { |seconds| (seconds || 0) * 1e6 }
        )
        lines << format("#[Max     = %12.3f, Total count    = %12d]",
          (histogram.max || 0) * 1e6, histogram.count)
        lines << format("#[Buckets = %12d, SubBuckets     = %12d]", Histogram::BUCKETS, 2048)
        "#{lines.join("\n")}\n"
      end

      def rows(histogram)
        seen = 0
        level = 0.0
        histogram.each_bucket.flat_map { |_, high, count|
          seen += count
          found = []
          while (seen < histogram.count) ? level <= 100.0 * seen / histogram.count : found.empty?
            found << row([high / MICROSECONDS, (histogram.max * 1e6)].min, level, seen)
            level = next_level(level)
          end
          found
        } + last(histogram)
      end

      def last(histogram)
        return [] if histogram.count.zero?
        [format("%12.3f %2.12f %10d", histogram.max * 1e6, 1.0, histogram.count)]
      end

      def row(value, level, seen)
        format("%12.3f %2.12f %10d %14.2f", value, level / 100, seen, 100 / (100 - level))
      end

      # The distance to 100 % halves every {TICKS} lines.
      def next_level(level)
        half = 2**(Math.log2(100 / (100 - level)).floor + 1)
        level + 100.0 / (TICKS * half)
      end
    end
    private_constant :Hgrm
  end
end
