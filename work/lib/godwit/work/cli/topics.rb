# frozen_string_literal: true

require "json"

module Godwit
  module Work
    module CLI
      # `godwit-work topics`: the topics of a log.
      class Topics < Command
        summary "Lists the topics, their partitions and their records."
        usage "topics [--json]"

        private

        def define(parser) = parser.on("--json", "one JSON object a topic")

        def call(arguments)
          no_arguments(arguments)
          require "godwit/work"
          client = Work.client
          rows = client.topics.map { |topic| row(client, topic) }
          return rows.each { |one| io.puts JSON.generate(one) } && 0 if options[:json]
          table([%w[topic partitions format records], *rows.map(&:values)])
        end

        def row(client, topic)
          bounds = Array.new(topic.partitions) { |number| client.engine.bounds(topic, number) }
          {topic: topic.name, partitions: topic.partitions, format: topic.format,
           records: bounds.sum { |first, finish| finish - first }}
        end

        def table(rows)
          widths = rows.transpose.map { |column| column.map { |cell| cell.to_s.size }.max }
          rows.each do |row|
            io.puts row.zip(widths).map { |cell, width| cell.to_s.ljust(width) }.join("  ").rstrip
          end
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
