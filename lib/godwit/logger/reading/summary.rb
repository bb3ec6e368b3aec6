# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A reader's summary: `received 120,000 · lost 0 · 4 writers · 48,311/s · lag p99 1.2 ms`. Its
    # memory is bounded; the lag is exact to ten percent.
    #
    # The lag is the time from the call in the writer to {#add}: by the monotonic clock if the
    # writer's host has this machine's name, else by the wall clocks.
    # @private
    class Summary
      STEPS = 8 # buckets for each doubling of the lag
      UNITS = [[1_000_000_000, "s"], [1_000_000, "ms"], [1_000, "µs"]].freeze

      class << self
        def duration(nanoseconds)
          size, unit = UNITS.find { |scale, _| nanoseconds >= scale } || UNITS.last
          amount = nanoseconds.fdiv(size)
          format((amount < 10) ? "%.1f %s" : "%.0f %s", amount, unit)
        end
      end

      def initialize(host: nil)
        @host = host
        @lags = Hash.new(0)
        @count = 0
      end

      def add(record, wall: clock(Process::CLOCK_REALTIME), mono: clock(Process::CLOCK_MONOTONIC))
        @first ||= mono
        @last = mono
        @count += 1
        here = @host && record.host == @host && record.mono_ns
        lag = here ? mono - here : (wall - record.t_ns if record.t_ns)
        @lags[bucket(lag)] += 1 if lag
        self
      end
      alias_method :<<, :add

      def line(received:, lost:, writers:, foreign: 0)
        lag = percentile(0.99)
        ["received #{Printable.number(received)}", "lost #{Printable.number(lost)}",
          "#{Printable.number(writers)} #{(writers == 1) ? "writer" : "writers"}",
          ("#{Printable.number(foreign)} foreign" if foreign.positive?),
          ("#{Printable.number(rate)}/s" if rate),
          ("lag p99 #{Summary.duration(lag)}" if lag)].compact.join(" · ")
      end

      def rate
        ((@count - 1) * 1_000_000_000 / (@last - @first)) if @count > 1 && @last > @first
      end

      def percentile(share)
        remaining = (@lags.each_value.sum * share).ceil
        bucket, = @lags.sort.find { |_, count| (remaining -= count) <= 0 }
        bucket && 2**bucket.fdiv(STEPS)
      end

      private

      def clock(id) = Process.clock_gettime(id, :nanosecond)
      # The wall clocks of two machines may differ: bucket 0 also has the negative lags.
      def bucket(lag) = (lag > 1) ? (Math.log2(lag) * STEPS).ceil : 0
    end
  end
end
