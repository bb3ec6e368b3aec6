# frozen_string_literal: true

module Godwit
  module CLI
    class Perf
      # `godwit perf matrix`: the latencies between all pairs of a group of hosts.
      class Matrix < Subcommand
        summary "Measures round trips between all pairs of hosts, by their agents."
        usage "perf matrix NAME=ENDPOINT... [options]"
        notes <<~TEXT
          Each host runs `godwit perf serve ENDPOINT --agent`. Each agent measures the connection
          to every agent, itself included, one after the other. The hosts must reach each other
          at these endpoints. In sizes k is 1,024 and M 1,024 * 1,024; in counts k is 1,000 and M
          1,000,000.
          Without --server-key the agents need --insecure, or an endpoint on loopback. A host that
          fails has a row with the reason; then the status is 1.
        TEXT

        TITLES = ["Connection", "Time", "Req-Rep/Sec", "RTT p50", "RTT p99"].freeze
        WIDTHS = [-16, -8, 11, 9, 9].freeze # characters; a negative width aligns to the left
        private_constant :TITLES, :WIDTHS

        private

        def define(parser)
          require "godwit/perf"
          perf = Godwit::Perf
          parser.on("--count N", "round trips of each pair (#{perf::MATRIX_COUNT})") do |text|
            count(text, "--count")
          end
          parser.on("--size N", "bytes of a message (#{perf::MATRIX_SIZE})") { |text| size(text) }
          define_timeout(parser)
          parser.on("--label PAIR=TEXT", "sets the Connection of a pair: a-b=Fiber") do |text|
            label(text)
          end
          define_formats(parser)
          define_keys(parser, clients: false)
        end

        def label(text)
          pair, found, label = text.partition("=")
          wrong(text, "--label is SOURCE-DEST=TEXT") if found.empty? || !pair.include?("-")
          labels[pair] = label
        end

        def labels = @labels ||= {}

        def call(arguments)
          one_of(:json, :csv)
          hosts = hosts(arguments)
          check_labels(hosts.keys)
          print_head(hosts.keys)
          rows = measure(hosts)
          rows.any?(&:failed?) ? EXIT[:failed] : EXIT[:ok]
        end

        def hosts(arguments)
          raise missing("hosts") if arguments.empty?
          arguments.each_with_object({}) do |text, hosts|
            name, found, endpoint = text.partition("=")
            wrong(text, "a host is NAME=ENDPOINT, such as web1=tcp://10.0.0.1:7900") if
              name.empty? || found.empty?
            wrong(name, "two hosts have one name") if hosts.key?(name)
            hosts[name] = tcp(endpoint)
          end
        end

        def tcp(endpoint)
          expanded = Endpoint.expand(endpoint)
          return expanded if Godwit::Endpoint.port(expanded)
          wrong(endpoint, "an agent's endpoint is tcp://HOST:PORT")
        end

        def check_labels(names)
          pairs = names.product(names).map { |pair| pair.join("-") }
          labels.each_key do |pair|
            wrong(pair, "--label names no pair of these hosts") unless pairs.include?(pair)
          end
        end

        def measure(hosts)
          security = client_security
          Godwit::Perf.matrix(hosts, **options.slice(:size, :count, :timeout), **security) do |row|
            print_row(row)
            io.flush
          end
        end

        def print_head(names)
          @names = [*names, "Source"].map(&:size).max
          return if options[:json]
          return io.puts(Report.csv(columns.keys)) if options[:csv]
          io.puts line("Source", "Dest", TITLES)
        end

        def print_row(row)
          values = columns.transform_values { |value| value.call(row) }
          return io.puts(JSON.generate(values)) if options[:json]
          return io.puts(Report.csv(values.values)) if options[:csv]
          warn_of_timeouts(row) unless row.failed?
          io.puts line(row.source, row.dest || "-", row.failed? ? [row.error] : cells(values))
        end

        def columns
          @columns ||= {
            **%i[source dest].to_h { |name| [name.to_s, name.to_proc] },
            "connection" => ->(row) { connection(row) },
            **%i[seconds rate count size].to_h { |name| [name.to_s, name.to_proc] },
            **%w[50 99].to_h { |percent| ["p#{percent}", percentile(percent)] },
            **%i[connect_seconds warmup timeouts error].to_h { |name| [name.to_s, name.to_proc] }
          }
        end

        def connection(row)
          labels.fetch("#{row.source}-#{row.dest}", row.connection) unless row.failed?
        end

        def percentile(percent)
          ->(row) { row.histogram && Report.percentile(row.histogram, Rational(percent)) }
        end

        def cells(values)
          latencies = values.values_at("p50", "p99").map { |one| one ? Report.duration(one) : "-" }
          [values["connection"], format("%.6f", values["seconds"]), format("%.1f", values["rate"]),
            *latencies]
        end

        def line(source, dest, cells)
          widths = [-@names, -@names, *WIDTHS]
          [source, dest, *cells].zip(widths).map { |cell, width| format("%*s", width, cell) }
            .join("  ").rstrip
        end
      end
    end
  end
end
