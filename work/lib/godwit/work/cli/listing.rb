# frozen_string_literal: true

require "json"

module Godwit
  module Work
    module CLI
      # A command that prints rows: as a table, or as one JSON object each.
      class Listing < Command
        private

        def define(parser) = parser.on("--json", "one JSON object a row")

        def call(arguments)
          rows = rows(arguments)
          options[:json] ? rows.each { |row| io.puts JSON.generate(row) } : table(rows)
          Godwit::CLI::EXIT[:ok]
        end

        # @param rows [Array<Hash{Symbol => Object}>]
        def table(rows)
          return if rows.empty?
          cells = [rows.first.keys, *rows.map(&:values)].map do |row|
            row.map { |cell| Printable.line(cell.to_s) }
          end
          widths = cells.transpose.map { |column| column.map(&:size).max }
          cells.each do |row|
            io.puts row.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip
          end
        end
      end
    end
  end
end
