# frozen_string_literal: true

module Godwit
  module CLI
    class Perf
      # `godwit perf lat`: round trips, one after the other.
      class Lat < Measure
        summary "Measures round trips, one after the other."
        usage "perf lat [ENDPOINT] [options]"

        private

        def link = "REQ-REP"

        def columns
          [Report.size, Report.number("round trips", :count), *Report.latencies(percents),
            Report.number("GC", :gc)]
        end

        def measure(endpoint, **settings) = Godwit::Perf.latency(endpoint, **settings)
        def rows(found) = found.tap { warn_of_timeouts(found) }
      end
    end
  end
end
