# frozen_string_literal: true

module Godwit
  module CLI
    class Ttcp
      # Makes the lines that C ttcp prints.
      class Report
        # The units of -f: name, and bytes of one unit.
        RATES = {
          "k" => ["Kbit", 1 << 7], "m" => ["Mbit", 1 << 17], "g" => ["Gbit", 1 << 27],
          "K" => ["KB", 1 << 10], "M" => ["MB", 1 << 20], "G" => ["GB", 1 << 30]
        }.freeze
        CALL = 1024 # C ttcp counts 1024 milliseconds to a second in msec/call
        private_constant :CALL

        # `tag` is "ttcp-t" or "ttcp-r", `rate` a key of {RATES}.
        def initialize(tag, rate, verbose)
          @tag = tag
          @unit, @divisor = RATES.fetch(rate)
          @verbose = verbose
        end

        def summary(result)
          [bytes(result, result.seconds, "real seconds", "/sec +++"),
            *(bytes(result, result.usage.cpu, "CPU seconds", "/cpu sec") if @verbose),
            calls(result), usage(result.usage, result.seconds), *(address(result) if @verbose)]
            .map { |line| "#{@tag}: #{line}" }
        end

        private

        def bytes(result, seconds, unit, per)
          seconds = [seconds, TTCP::SHORTEST].max
          format("%d bytes in %.2f %s = %.2f %s%s", result.bytes, seconds, unit,
            result.bytes / seconds / @divisor, @unit, per)
        end

        def calls(result)
          count = result.calls
          seconds = [result.seconds, TTCP::SHORTEST].max
          each = count.zero? ? 0 : CALL * seconds / count
          format("%d I/O calls, msec/call = %.2f, calls/sec = %.2f", count, each, count / seconds)
        end

        # Linux does not count shared text and data, so C ttcp also prints 0 for both.
        def usage(used, seconds)
          hundredths = [(seconds * 100).to_i, 1].max
          format("%suser %ssys %sreal %d%% 0i+0d %dmaxrss %d+%dpf %d+%dcsw", tenths(used.user),
            tenths(used.system), clock(seconds.to_i), (used.cpu * 100).to_i * 100 / hundredths,
            used.max_rss, used.major_faults, used.minor_faults, used.voluntary_switches,
            used.involuntary_switches)
        end

        # Cuts the seconds off after one decimal, as C ttcp does.
        def tenths(seconds) = format("%d.%d", *(seconds * 10).to_i.divmod(10))

        def clock(seconds)
          minutes, seconds = seconds.divmod(60)
          hours, rest = minutes.divmod(60)
          return format("%d:%02d", minutes, seconds) if hours.zero?
          format("%d:%02d:%02d", hours, rest, seconds)
        end

        def address(result)
          format("buffer address %#x", result.buffer_address) if result.buffer_address
        end
      end
      private_constant :Report
    end
  end
end
