# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # `godwit log stats`: shows what a `log serve` has received.
      class Stats < Subcommand
        summary "Shows what `log serve` received, from which writers, and how many were lost."
        usage "log stats ENDPOINT [options]"
        notes <<~TEXT
          ENDPOINT is the --control of `log serve`. LAG is the time between the writer's clock and
          that of `log serve`, IDLE the time since the writer's last record.
        TEXT

        COLUMNS = %w[PROGRAM HOST WRITER RECEIVED LOST LATE WARN ERROR FATAL LAG IDLE].freeze
        private_constant :COLUMNS

        private

        def define(parser)
          parser.on("--json", "one JSON object a line")
          parser.on("--interval SECONDS", Float, "repeats") { |time| positive(time, "--interval") }
          seconds_option(parser, "--timeout", "how long it waits for an answer (#{ANSWER_TIMEOUT})")
          define_keys(parser, clients: false)
          define_quiet(parser)
        end

        def call(arguments)
          target = only_endpoint(arguments)
          require "godwit"
          telling(DEALER, target) do
            with_control(target, options.fetch(:timeout, ANSWER_TIMEOUT)) do |control|
              repeat(control)
            end
          end
          EXIT[:ok]
        end

        def repeat(control)
          loop do
            show(control.statistics)
            io.flush
            break unless options[:interval]
            sleep options[:interval]
            io.puts unless options[:json]
          end
        end

        def show(statistics)
          return io.puts(Logger::View.json(statistics)) if options[:json]
          rows = statistics["accounts"].map { |writer| row(writer) }
          print_table([COLUMNS, *rows]) if rows.any?
          io.puts totals(statistics)
        end

        def row(writer)
          names = writer.values_at("prog", "host").map do |name|
            name.to_s.empty? ? "-" : Logger::View.escape(name.to_s)
          end
          counts = writer.values_at("received", "lost", "late") +
            writer["levels"].values_at("WARN", "ERROR", "FATAL")
          [*names, Logger::View.escape(writer["writer"].to_s[0, 8]),
            *counts.map { |count| number(count) },
            *writer.values_at("lag", "idle").map { |seconds| duration(seconds) }]
        end

        def print_table(rows)
          widths = rows.transpose.map { |cells| cells.map(&:size).max }
          rows.each do |cells|
            cells = cells.zip(widths).each_with_index.map do |(cell, width), index|
              (index < 3) ? cell.ljust(width) : cell.rjust(width)
            end
            io.puts cells.join("  ").rstrip
          end
        end

        def totals(statistics)
          count = statistics["writers"]
          problems = %w[skipped unanswered].select { |name| statistics[name].to_i.positive? }
          counts = %w[records lost late plain foreign sent] + problems
          ["up #{duration(statistics["uptime"])}",
            "#{number(count)} #{(count == 1) ? "writer" : "writers"}",
            *counts.map { |name| "#{name} #{number(statistics[name])}" },
            *file(statistics["sink"] || {})].join(" · ")
        end

        def file(sink)
          written, failed, error = sink.values_at("written", "failed", "error")
          [("file: written #{number(written)}, failed #{number(failed)}" if written),
            ("the last error: #{Logger::View.escape(error)}" if error)].compact
        end

        def number(count) = Printable.number(count)
        def duration(seconds) = Logger::Summary.duration([seconds, 0].max * 1e9)
      end
    end
  end
end
