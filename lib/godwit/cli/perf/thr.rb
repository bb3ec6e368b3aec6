# frozen_string_literal: true

module Godwit
  module CLI
    class Perf
      # `godwit perf thr`: sends messages in one direction.
      class Thr < Measure
        summary "Measures messages and megabytes a second, at the receiver."
        usage "perf thr [ENDPOINT] [options]"

        private

        def link = "PUSH-PULL"

        def columns
          [Report.size, Report.number("messages", :received), Report.number("messages/s", :rate),
            Report.number("MB/s", :megabytes, digits: 1), Report.number("lost", :lost),
            Report.number("duplicated", :duplicated), Report.number("out of order", :out_of_order),
            Report.number("GC", :gc)]
        end

        def define_measurement(parser)
          parser.on("--batch N", "sends N messages with each call") { |n| count(n, "--batch") }
          parser.on("--zero-copy", "sends Strings in place")
        end

        def latencies? = false
        def settings = {**super, **options.slice(:batch, :zero_copy)}

        def measure(endpoint, **settings) = Godwit::Perf.throughput(endpoint, **settings)

        def rows(found)
          return found if found.foreign.zero?
          warn "godwit: #{Report.digits(found.foreign)} messages of another sender arrived"
          found
        end
      end
    end
  end
end
