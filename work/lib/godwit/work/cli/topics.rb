# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work topics`: lists the topics of a log.
      class Topics < Listing
        summary "Lists the topics, their partitions and their records."
        usage "topics [--json]"

        private

        def rows(arguments)
          accept(arguments)
          client.topics.map do |topic|
            {topic: topic.name, partitions: topic.partitions, format: topic.format,
             records: client.engine.bounds(topic).sum { |first, finish| finish - first }}
          end
        end
      end
    end
  end
end
