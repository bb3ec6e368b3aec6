# frozen_string_literal: true

require_relative "report"

module Godwit
  module CLI
    class Perf
      # A subcommand that measures and prints a row for each size.
      class Measure < Subcommand
        notes <<~TEXT
          Without ENDPOINT it starts a server of its own on loopback. In sizes k is 1,024 and M
          1,024 * 1,024; in counts and rates k is 1,000 and M 1,000,000. Latencies are round-trip
          times (RTT). "-": too few samples for this percentile. The warm-up takes 1 s, or 1,000
          messages with --count.
        TEXT

        PERCENTS = %w[50 90 99 99.9].freeze
        private_constant :PERCENTS

        private

        def define(parser)
          require "godwit/perf"
          perf = Godwit::Perf
          parser.on("--size LIST", "bytes of a message (#{perf::SIZE}); also 1,100,1k") do |text|
            list(text) { |one| size(one) }
          end
          above_zero_option(parser, "--time", "how long it measures each size (#{perf::TIME})")
          parser.on("--count N", "how much it measures of each size, instead of a time") do |text|
            count(text, "--count")
          end
          define_timeout(parser)
          define_measurement(parser)
          define_latencies(parser) if latencies?
          define_formats(parser)
          define_keys(parser, clients: false)
          define_quiet(parser)
        end

        # The block must check an empty text too, but `split` gives no element for it.
        def list(text, &block) = text.empty? ? [yield(text)] : text.split(",", -1).map(&block)

        # A subclass adds its own options.
        def define_measurement(parser)
        end

        def define_latencies(parser)
          parser.on("--percentiles LIST", "which percentiles (#{PERCENTS.join(",")})") do |list|
            list(list) { |text| percent(text) }.uniq
          end
          parser.on("--hgrm FILE", "writes the histogram, in HdrHistogram's text format; one size")
          parser.on("--plot", "draws the latencies by percentile")
        end

        def latencies? = true

        def percent(text)
          return text if text.match?(/\A\d+(?:\.\d+)?\z/) && Rational(text) <= 100
          wrong(text, "a percentile is 0 to 100")
        end

        def call(arguments)
          endpoint = only_endpoint(arguments) unless arguments.empty?
          check_options(endpoint)
          # Opens the file early, so that a bad path fails before the measurement.
          File.open(options[:hgrm], "a").close if options[:hgrm]
          report = Report.new(io, columns, options) { |row| header(row) }
          if endpoint
            telling(DEALER, endpoint) { measure_sizes(endpoint, report) }
          else
            measure_sizes(nil, report)
          end
          report.finish
          EXIT[:ok]
        end

        # When the server is lost, the report shows the figures up to that time.
        def measure_sizes(endpoint, report)
          sizes.each { |size| report.row(rows(measure(endpoint, size: size, **settings))) }
        rescue Godwit::Perf::ServerLostError => error
          if error.result
            report.row(rows(error.result))
            report.finish
          end
          raise
        end

        def check_options(endpoint)
          one_of(:time, :count)
          one_of(:json, :csv, :plot)
          raise UsageError, "--hgrm takes one --size" if options[:hgrm] && sizes.size > 1
          return if endpoint || !(options[:keys] || options[:server_key])
          raise UsageError, "--keys and --server-key need ENDPOINT"
        end

        def percents = options.fetch(:percentiles, PERCENTS)
        def sizes = options.fetch(:size, [Godwit::Perf::SIZE])
        def settings = {**options.slice(:time, :count, :timeout), **client_security}

        def machine
          system = Etc.uname
          # On JRuby :release is "unknown", and :version has the release.
          release = system.values_at(:release, :version).filter_map { |text| text[/\A\d+\.\d+/] }
          "godwit #{VERSION}, libzmq #{Godwit.libzmq_version}, #{RUBY_ENGINE} #{RUBY_VERSION}, " \
            "#{Etc.nprocessors} cores, #{system[:sysname]} #{release.first}"
        end

        def header(row)
          warm_up = options[:count] ? "#{row.warmup} messages" : "1 s"
          "#{link} over #{row.endpoint[/\A\w+/]}, connected in " \
            "#{Report.duration(row.connect_seconds)}, warm-up #{warm_up}; #{machine}"
        end
      end
    end
  end
end
