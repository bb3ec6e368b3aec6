# frozen_string_literal: true

require "etc"
require "json"
require_relative "plot"

module Godwit
  module CLI
    class Perf
      # Prints the rows of a measurement as a table, as JSON or as CSV.
      class Report
        # A column: its title, the key of JSON and CSV, its kind (:size, :text, :number, :latency),
        # its decimals, and a Proc that returns its value for a row.
        Column = Struct.new(:title, :key, :kind, :digits, :value)
        WIDTH = 9
        # The least number of seconds that is shown in a unit => the unit.
        UNITS = {1 => "s", 1e-3 => "ms", 0 => "us"}.freeze
        FACTORS = {"s" => 1, "ms" => 1e3, "us" => 1e6}.freeze

        class << self
          def size = Column.new("size", "size", :size, nil, :size.to_proc)
          def text(title, key) = Column.new(title, key.to_s, :text, nil, key.to_proc)

          def number(title, key, digits: 0)
            Column.new(title, key.to_s, :number, digits, key.to_proc)
          end

          def latencies(percents)
            columns = percents.each_with_index.map do |percent, index|
              Column.new("#{"RTT " if index.zero?}p#{percent}", "p#{percent}", :latency, nil,
                ->(row) { percentile(row.histogram, Rational(percent)) })
            end
            [*columns, Column.new("max", "max", :latency, nil, ->(row) { row.histogram.max })]
          end

          # @return [String] such as "1,234.5"
          def digits(number, decimals = 0)
            whole, rest = format("%.#{decimals}f", number).split(".")
            [Printable.number(whole), *rest].join(".")
          end

          # @return [String] such as "42.6 us"
          def duration(seconds, unit = unit(seconds)) = "#{in_unit(seconds, unit)} #{unit}"

          def unit(seconds) = UNITS.find { |least, _| seconds >= least }.last

          def in_unit(seconds, unit)
            value = seconds * FACTORS.fetch(unit)
            (value < 99.95) ? format("%.1f", value) : digits(value)
          end

          # @return [Float, nil] seconds; nil: too few samples
          def percentile(histogram, percent)
            histogram.percentile(percent) if histogram.enough_for?(percent)
          end

          def csv(cells) = cells.map { |cell| quoted(cell.to_s) }.join(",")

          private

          def quoted(text) = text.match?(/[",\n]/) ? "\"#{text.gsub("\"", "\"\"")}\"" : text
        end

        # @yieldreturn [String] the line above the table
        def initialize(io, columns, options, &header)
          @io = io
          @columns = columns
          @options = options
          @header = header
          @rows = []
        end

        def row(results)
          (results.is_a?(Array) ? results : [results]).each do |result|
            print_head(result) if @rows.empty?
            @rows << result
            print_row(result)
          end
          @io.flush
        end

        def finish
          File.write(@options[:hgrm], @rows.first.histogram.hgrm) if @options[:hgrm]
          return unless @options[:plot]
          @rows.each { |result| @io.puts "", Plot.new(result.histogram, title(result)).lines(@io) }
        end

        private

        def title(result)
          from = ", from the #{result.from} send" if result.respond_to?(:from)
          "RTT by percentile, #{Report.digits(result.size)} B#{from}"
        end

        def print_head(result)
          return if @options[:json]
          return @io.puts(Report.csv(@columns.map(&:key) + extra(result).keys)) if @options[:csv]
          @io.puts @header.call(result), line(@columns.map(&:title))
        end

        def print_row(result)
          return @io.puts(JSON.generate(values(result))) if @options[:json]
          return @io.puts(Report.csv(values(result).values)) if @options[:csv]
          @io.puts line(cells(result))
        end

        def values(result)
          @columns.to_h { |column| [column.key, column.value.call(result)] }.merge(extra(result))
        end

        def extra(result)
          names = %i[sent foreign seconds connect_seconds warmup timeouts endpoint]
          names.select { |name| result.respond_to?(name) }
            .to_h { |name| [name.to_s, result.public_send(name)] }
        end

        def cells(result)
          unit = nil
          @columns.map do |column|
            value = column.value.call(result)
            next cell(column, value) unless column.kind == :latency
            next "-" unless value
            own = Report.unit(value)
            (own == unit) ? Report.in_unit(value, unit) : Report.duration(value, unit = own)
          end
        end

        def cell(column, value)
          case column.kind
          when :size then "#{Report.digits(value)} B"
          when :number then Report.digits(value, column.digits)
          else value.to_s
          end
        end

        def line(cells)
          first, *rest = cells
          widths = @columns.drop(1).map { |column| [column.title.size, WIDTH].max }
          [first.ljust(WIDTH), *rest.zip(widths).map { |cell, width| cell.rjust(width) }].join("  ")
        end
      end
      private_constant :Report
    end
  end
end
