# frozen_string_literal: true

require "forwardable"

module Godwit
  module CLI
    class Perf
      # `godwit perf load`: sends messages at a fixed rate.
      class Load < Measure
        summary "Sends at a fixed rate, and measures from the time at which each message was due."
        usage "perf load [ENDPOINT] --rate N [options]"

        # A row of the report: a result, and one of its histograms (from intended or actual sends).
        Row = Struct.new(:result, :from, :histogram) do
          extend Forwardable

          def_delegators :result, :endpoint, :size, :sent, :requested_rate, :achieved_rate,
            :seconds, :connect_seconds, :warmup, :timeouts, :gc
        end
        private_constant :Row

        private

        def link = "DEALER-REP"

        def columns
          [Report.size, Report.text("from", :from), Report.number("requested/s", :requested_rate),
            Report.number("achieved/s", :achieved_rate), *Report.latencies(percents),
            Report.number("GC", :gc)]
        end

        def define_measurement(parser)
          parser.on("--rate N", "messages a second; k is 1,000") { |text| count(text, "--rate") }
        end

        def check_options(endpoint)
          super
          raise UsageError, "perf load needs --rate N" unless options[:rate]
        end

        def settings = {**super, rate: options[:rate]}

        def measure(endpoint, **settings) = Godwit::Perf.load(endpoint, **settings)

        def rows(found)
          unless found.achieved?
            warn "godwit: the link carried #{Report.digits(found.achieved_rate)} of " \
              "#{Report.digits(found.requested_rate)} messages/s"
          end
          warn_of_timeouts(found)
          [Row.new(found, "intended", found.intended), Row.new(found, "actual", found.actual)]
        end
      end
    end
  end
end
