# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit perf`: measures a link.
    class Perf < Family
      summary "Measures the latency, the throughput and the open-loop load of a link."
      usage "perf serve|lat|thr|load|matrix [ENDPOINT] [options]"

      # What all subcommands of `godwit perf` have in common.
      class Subcommand < Family::Subcommand
        # (see Command#run)
        def run(arguments, io: $stdout)
          super
        rescue Errno::ETIMEDOUT => error
          raise unless error.respond_to?(:endpoint)
          warn "godwit: #{error.message}"
          EXIT[:failed]
        end

        private

        def size(text)
          found = units(text, BINARY)
          return found if found&.<= Godwit::Perf::MAX_SIZE
          wrong(text, "a size is 0 to 64M bytes, such as 100, 64k or 1M")
        end

        def count(text, name)
          found = units(text, DECIMAL)
          return found if found&.positive?
          wrong(text, "#{name} is 1 or more, such as 5000, 20k or 1M")
        end

        def wrong(text, words) = raise(UsageError, "#{words}: got #{text.inspect}")

        def warn_of_timeouts(found)
          return if found.timeouts.zero?
          warn "godwit: #{Report.digits(found.timeouts)} without a reply in " \
            "#{options.fetch(:timeout, Godwit::Perf::TIMEOUT)} s"
        end

        def define_formats(parser)
          parser.on("--json", "one JSON object a row, with seconds")
          parser.on("--csv", "comma-separated values, with seconds")
        end

        def define_timeout(parser)
          about = "how long it waits for an answer (#{Godwit::Perf::TIMEOUT})"
          above_zero_option(parser, "--timeout", about)
        end

        def above_zero_option(parser, name, *text)
          parser.on("#{name} SECONDS", Float, *text) do |seconds|
            next seconds if seconds.positive? && seconds.finite?
            wrong(seconds.to_s, "#{name} is more than 0 seconds")
          end
        end
      end

      # The subcommands, in the order of the help.
      SUBCOMMANDS = {"serve" => :Serve, "lat" => :Lat, "thr" => :Thr, "load" => :Load,
                     "matrix" => :Matrix}.freeze
      require_relative "perf/measure"
      SUBCOMMANDS.each_key { |name| require_relative "perf/#{name}" }
      require_relative "perf/tool"

      private

      # libzmq's tools share one class and one line of the help.
      def subcommand(name) = Tool::TOOLS.key?(name) ? Tool.new(name) : super
      def listed = [*super, Tool]
    end
  end
end
