# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # `godwit log stats`: what a `log serve` has seen.
      class Stats < Part
        summary "Shows what `log serve` has received, of whom, and what is lost."
        usage "log stats ENDPOINT [options]"

        PATIENCE = 5 # seconds for an answer
        private_constant :PATIENCE

        private

        def define(options)
          options.on("--json", "one JSON object a line") { @json = true }
          options.on("--interval SECONDS", Float, "again and again, till Ctrl-C") do |seconds|
            @interval = positive(seconds, "--interval")
          end
          options.on(
            "--timeout SECONDS", Float, "how long it waits for an answer; 5 unless told"
          ) { |seconds| @timeout = not_negative(seconds, "--timeout") }
          define_keys(options, clients: false)
          options.separator ""
          options.separator "ENDPOINT is where `log serve` has its --control. LAG is between the " \
            "writer's clock and that of `log serve`, IDLE the"
          options.separator "time since its last record."
          options.separator ""
        end

        def call(arguments)
          target = endpoint(arguments)
          load_library
          ask(target, @timeout || PATIENCE, told: !@timeout.nil?) do |control|
            loop do
              show(control.statistics)
              io.flush
              break unless @interval
              sleep @interval
              io.puts unless @json
            end
          end
          EXIT[:ok]
        end

        def show(statistics)
          return io.puts(Godwit::Logger::View.json(statistics)) if @json
          rows = statistics["accounts"].map { |account| row(account) }
          print_table(rows) if rows.any?
          io.puts totals(statistics)
        end

        COLUMNS = %w[PROGRAM HOST WRITER RECEIVED LOST LATE WARN ERROR FATAL LAG IDLE].freeze
        private_constant :COLUMNS

        def row(account)
          names =
            account
              .values_at("prog", "host")
              .map { |name| name.to_s.empty? ? "-" : Godwit::Logger::View.escape(name.to_s) }
          counts = [
            *account.values_at("received", "lost", "late"),
            *account["levels"].values_at("WARN", "ERROR", "FATAL")
          ]
          [
            *names, Godwit::Logger::View.escape(account["writer"].to_s[0, 8]),
            *counts.map { |count| number(count) },
            *account.values_at("lag", "idle").map { |seconds| duration(seconds) }
          ]
        end

        # Names to the left, numbers to the right.
        def print_table(rows)
          widths = [COLUMNS, *rows].transpose.map { |cells| cells.map(&:size).max }
          [COLUMNS, *rows].each do |cells|
            io.puts cells
              .each_with_index
              .map { |cell, index|
                (index < 3) ? cell.ljust(widths[index]) : cell.rjust(widths[index])
              }
              .join("  ")
              .rstrip
          end
        end

        def totals(statistics)
          sink = statistics["sink"]
          count = statistics["writers"]
          writers = "#{number(count)} #{(count == 1) ? "writer" : "writers"}"
          parts = [
            "up #{duration(statistics["uptime"])}",
            writers,
            *%w[records lost late plain foreign sent].map do |name|
              "#{name} #{number(statistics[name])}"
            end
          ]
          parts.concat(
            %w[skipped unanswered].filter_map do |name|
              "#{name} #{number(statistics[name])}" if statistics[name].to_i.positive?
            end
          )
          if sink
            parts << "file: written #{number(sink["written"])}, failed #{number(sink["failed"])}"
          end
          if sink && sink["error"]
            parts << "the last trouble: #{Godwit::Logger::View.escape(sink["error"])}"
          end
          parts.join(" · ")
        end

        def number(count) = Godwit::Logger::Summary.number(count)

        def duration(seconds) = Godwit::Logger::Summary.duration([seconds, 0].max * 1e9)
      end
    end
  end
end
