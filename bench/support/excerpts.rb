# frozen_string_literal: true

module Bench
  # The figures in README.md: rows and columns taken as they are from the tables of RESULTS.md, so
  # that no number there is written by hand.
  class Excerpts
    README = File.expand_path("../../README.md", __dir__)
    RESULTS = File.expand_path("../RESULTS.md", __dir__)
    BLOCK = /(?<=<!-- begin figures -->\n).*(?=<!-- end figures -->)/m

    # Section of RESULTS.md, heading in it (nil: its first table), name of the first column, rows
    # (as there => as shown), columns.
    CHOSEN = [
      [
        "throughput",
        "tcp",
        "messages a second over tcp · ratio to C",
        {
          "C" => "libzmq's own C", "godwit, strings" => "Godwit", "pyzmq" => "pyzmq",
          "ffi-rzmq" => "ffi-rzmq"
        },
        ["100 B", "1 KiB"]
      ],
      [
        "latency",
        "tcp, 1 B",
        "round trips over tcp, µs",
        {
          "C" => "libzmq's own C", "godwit" => "Godwit", "pyzmq" => "pyzmq",
          "ffi-rzmq" => "ffi-rzmq"
        },
        %w[p50 p99]
      ],
      [
        "logger",
        "One call of info",
        "one call of a logger's info",
        {
          "::Logger to a file" => "Ruby's Logger to a file",
          "semantic_logger to a file" => "semantic_logger to a file",
          "Godwit::Logger" => "Godwit::Logger, to a reader"
        },
        ["p50, µs", "p99, µs"]
      ],
      [
        "shell",
        "3000000 rows of 100 B that C writes, nothing done with them",
        "rows of a command's output",
        {
          "backticks" => "backticks", "IO.popen, each_line" => "IO.popen, each_line",
          "Godwit" => "Godwit", "Godwit, `reuse: true`" => "Godwit, `reuse: true`"
        },
        ["rows/s", "memory grew by, MiB"]
      ]
    ].freeze

    # @return [String] README.md with the figures that RESULTS.md has now
    def readme
      text = File.read(README)
      raise "README.md has no place for figures" unless text.match?(BLOCK)
      text.sub(BLOCK) { "#{CHOSEN.map { |choice| excerpt(*choice) }.join("\n\n")}\n" }
    end

    def current? = readme == File.read(README)

    def write = File.write(README, readme)

    # @param section [String] of RESULTS.md
    # @param heading [String, nil] in it; nil: the section's first table
    # @return [Array<Array<String>>] the head, and the rows
    def table(section, heading)
      body = File.read(RESULTS)[/<!-- begin #{section} -->\n(.*?)<!-- end #{section} -->/m, 1] or
        raise "RESULTS.md has no section #{section}"
      if heading
        body = body[/^### #{Regexp.escape(heading)}\n(.*)/m, 1] or
          raise "#{section}: no heading #{heading}"
      end
      lines =
        body[/(?:^\|.*\|\n)+/].lines.map do |line|
          line.strip.delete_prefix("|").delete_suffix("|").split(" | ").map(&:strip)
        end
      [lines.first, *lines.drop(2)]
    end

    private

    def excerpt(section, heading, title, rows, columns)
      head, *lines = table(section, heading)
      places =
        columns.map { |column| head.index(column) or raise "#{section}: no column #{column}" }
      shown = rows.map do |label, words|
        line = lines.find { |cells| cells.first == label } or raise "#{section}: no row #{label}"
        [words, *line.values_at(*places)]
      end
      [[title, *columns], ["---", *columns.map { "---:" }], *shown].map do |cells|
        "| #{cells.join(" | ")} |"
      end
        .join("\n")
    end
  end
end
