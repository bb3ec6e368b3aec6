# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work lag`: how far each group is in each partition.
      class Lag < Listing
        summary "Lists how far each group is in each partition, and the member that has it."
        usage "lag [--json]"

        private

        def rows(arguments)
          take(arguments)
          client.engine.positions.map { |one| row(one) }
        end

        def row(position)
          finish = client.engine.bounds(position.topic, position.partition).last
          {group: position.group, topic: position.topic.name, partition: position.partition,
           watermark: position.watermark, end: finish, lag: finish - position.watermark,
           member: position.member}
        end
      end
    end
  end
end
