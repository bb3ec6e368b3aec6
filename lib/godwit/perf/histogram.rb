# frozen_string_literal: true

module Godwit
  module Perf
    # A histogram of durations, with High Dynamic Range buckets: 3 significant digits from 1 us to
    # 1 h, in constant memory.
    #
    #   histogram = Godwit::Perf::Histogram.new
    #   histogram.record(0.0000426)
    #   histogram.percentile(99) # => 4.26e-05
    #
    # **Threads**: one thread at a time may record. Any thread may read a frozen histogram.
    #
    # @see http://hdrhistogram.org HdrHistogram
    class Histogram
      # Each bucket has 1,024 (HALF) sub-buckets; the first bucket has 2,048 (2**BITS).
      BITS = 11
      HALF = 1 << (BITS - 1)
      # The longest duration in nanoseconds; a longer one counts as this.
      LONGEST = 3_600 * 1_000_000_000
      HOUR = 3_600 # seconds
      # The number of buckets. Each bucket is twice as wide as the one before.
      BUCKETS = LONGEST.bit_length - BITS + 1
      LENGTH = (BUCKETS + 1) * HALF
      NANOSECONDS = 1e9
      MICROSECOND = 1e3 # nanoseconds
      TICKS = 5 # lines of {#hgrm} in which the distance to 100 % is halved
      TITLES = "       Value     Percentile TotalCount 1/(1-Percentile)"
      private_constant :BITS, :HALF, :LONGEST, :HOUR, :LENGTH, :NANOSECONDS, :MICROSECOND, :TICKS,
        :TITLES

      # Makes a histogram of the values of {#to_h}, from another process.
      # @private
      def self.from_h(values)
        new.tap { |histogram| histogram.load(values) }
      end

      def initialize
        @counts = Array.new(LENGTH, 0)
        @count = @sum = @max = 0
        @min = nil
      end

      # @return [Integer] durations that were recorded
      attr_reader :count

      # Records a duration.
      # @param seconds [Integer, Float, Rational] from 0; more than an hour counts as an hour
      # @return [self]
      # @raise [ArgumentTypeError] for anything but a number
      # @raise [ArgumentValueError] for a negative duration, NaN, or a Complex
      def record(seconds)
        refuse("seconds", seconds) unless seconds.is_a?(Numeric) && seconds.real? && seconds >= 0
        record_ns((seconds > HOUR) ? LONGEST : (seconds * NANOSECONDS).round)
      end

      # Records a duration.
      # @param nanoseconds [Integer] from 0; more than an hour counts as an hour
      # @return [self]
      # @raise [ArgumentTypeError] for anything but a number
      # @raise [ArgumentValueError] for a negative duration, or one that is no Integer
      def record_ns(nanoseconds)
        refuse("nanoseconds", nanoseconds) unless nanoseconds.is_a?(Integer) && nanoseconds >= 0
        nanoseconds = LONGEST if nanoseconds > LONGEST
        # JRuby's own message of a FrozenError would show the whole Array of counts.
        raise FrozenError.new("can't modify frozen #{inspect}", receiver: self) if frozen?
        @count += 1
        @counts[index(nanoseconds)] += 1
        @sum += nanoseconds
        @max = nanoseconds if nanoseconds > @max
        @min = nanoseconds if @min.nil? || nanoseconds < @min
        self
      end

      # @param other [Histogram]
      # @return [Histogram] a new one with the durations of both
      # @raise [ArgumentTypeError] for anything else
      def merge(other)
        unless other.is_a?(Histogram)
          raise Errors.bad_type(:merge, "the other", "a #{Histogram}", other)
        end
        dup.tap { |sum| sum.add(other) }
      end

      # @param percent [Numeric] 0 to 100
      # @return [Float, nil] seconds, within 0.1 %: at least `percent` % of the durations are not
      #   longer; nil without a duration
      # @raise [ArgumentError] when percent is out of range
      def percentile(percent)
        unless percent.is_a?(Numeric) && percent.real? && (0..100).cover?(percent)
          raise ArgumentError, "a percentile is 0 to 100: got #{percent.inspect}"
        end
        return if @count.zero?
        rank = [(exact(percent) * @count / 100).ceil, 1].max
        return max if rank >= @count
        seen = 0
        at = @counts.index { |count| (seen += count) >= rank }
        [highest(at), @max].min / NANOSECONDS
      end

      # A percentile has a meaning if at least ten durations are longer.
      # @param percent [Numeric] 0 to 100
      # @return [Boolean] whether there are enough durations for this percentile
      def enough_for?(percent) = @count * (100 - exact(percent)) >= 1000

      # @return [Float, nil] the shortest duration, in seconds, exact; nil if there is none
      def min = @min && @min / NANOSECONDS
      # @return [Float, nil] the longest duration, in seconds, exact; nil if there is none
      def max = (@max / NANOSECONDS if @count.positive?)
      # @return [Float, nil] the mean of the durations, in seconds, exact; nil if there is none
      def mean = (@sum / NANOSECONDS / @count if @count.positive?)

      # @return [Float, nil] seconds; nil without a duration
      def standard_deviation
        return if @count.zero?
        squares = buckets.sum { |low, high, count| count * ((low + high) / 2e9 - mean)**2 }
        Math.sqrt(squares / @count)
      end

      # @private
      def to_h
        counts = @counts.each_with_index.filter_map { |count, at| [at, count] if count.positive? }
        {"counts" => counts, "sum" => @sum, "min" => @min, "max" => @max}
      end

      # @return [String] HdrHistogram's text format, which its plotters read: values in microseconds
      #   by percentile
      # @see http://hdrhistogram.github.io/HdrHistogram/plotFiles.html
      def hgrm
        deviation = [mean, standard_deviation].map { |seconds| (seconds || 0) * 1e6 }
        lines = [
          TITLES, "", *hgrm_rows,
          format("#[Mean    = %12.3f, StdDeviation   = %12.3f]", *deviation),
          format("#[Max     = %12.3f, Total count    = %12d]", (max || 0) * 1e6, count),
          format("#[Buckets = %12d, SubBuckets     = %12d]", BUCKETS, 2048)
        ]
        "#{lines.join("\n")}\n"
      end

      # @return [self] frozen; its counts are frozen too
      def freeze
        @counts.freeze
        super
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{count} durations#{format(", max %.6f s", max) if max}>"
      end

      # @private
      def load(values)
        counts, @sum, @min, @max = values.values_at("counts", "sum", "min", "max")
        counts.each { |at, count| @counts[checked(at, 0...LENGTH)] = checked(count, 1..) }
        @count = @counts.sum
        no_histogram unless @count.zero? ? [@sum, @min, @max] == [0, nil, 0] : whole?
      rescue TypeError, NoMethodError
        no_histogram
      end

      protected

      def add(other)
        values = other.to_h
        values["counts"].each { |at, count| @counts[at] += count }
        @count += other.count
        @sum += values["sum"]
        @min = [@min, values["min"]].compact.min
        @max = [@max, values["max"]].max
      end

      private

      def refuse(unit, value)
        allowed = "a duration in #{unit}, 0 or more"
        raise Errors.bad_value(:record, unit, allowed, value) if value.is_a?(Numeric)
        raise Errors.bad_type(:record, unit, allowed, value)
      end

      def initialize_copy(_)
        super
        @counts = @counts.dup
      end

      def checked(number, range)
        (number.is_a?(Integer) && range.cover?(number)) ? number : no_histogram
      end

      # @return [Boolean] whether the sum, the minimum and the maximum fit the counts
      def whole?
        index(@min) == @counts.index(&:positive?) && index(@max) == @counts.rindex(&:positive?) &&
          @sum.between?(@count * @min, @count * @max)
      end

      def no_histogram = raise(ArgumentError, "this is no histogram")

      # Gives the shortest and the longest duration of each bucket in use, in nanoseconds, and the
      # number of its durations.
      def buckets
        @counts.each_with_index.filter_map do |count, at|
          [lowest(at), highest(at), count] if count.positive?
        end
      end

      # Makes one line for each percentile of the printed scale ({#next_level}).
      def hgrm_rows
        return [] if count.zero?
        seen = 0
        level = 0.0
        rows = buckets.flat_map do |_, high, number|
          seen += number
          found = []
          while (seen < count) ? level <= 100.0 * seen / count : found.empty?
            found << format("%12.3f %2.12f %10d %14.2f", [high / MICROSECOND, max * 1e6].min,
              level / 100, seen, 100 / (100 - level))
            level = next_level(level)
          end
          found
        end
        [*rows, format("%12.3f %2.12f %10d", max * 1e6, 1.0, count)]
      end

      # Returns the next line's percentile. The distance to 100 % halves every {TICKS} lines.
      def next_level(level)
        half = 2**(Math.log2(100 / (100 - level)).floor + 1)
        level + 100.0 / (TICKS * half)
      end

      # Converts a percentage by its decimal text, since the Float 99.9 is not exactly 999/10.
      def exact(percent) = Rational(percent.to_s)

      def index(nanoseconds)
        bucket = (nanoseconds | (2 * HALF - 1)).bit_length - BITS
        bucket * HALF + (nanoseconds >> bucket)
      end

      def lowest(at)
        bucket = [at / HALF - 1, 0].max
        (at - bucket * HALF) << bucket
      end

      def highest(at)
        bucket = [at / HALF - 1, 0].max
        ((at - bucket * HALF + 1) << bucket) - 1
      end
    end
  end
end
