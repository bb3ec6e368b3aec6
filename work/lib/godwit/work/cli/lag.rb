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
          client.groups.flat_map do |group|
            topic = client.engine.topic(group.topic)
            client.engine.positions(group.group, topic).map { |one| row(topic, one) }
          end
        end

        def row(topic, position)
          finish = client.engine.bounds(topic, position.partition).last
          {group: position.group, topic: topic.name, partition: position.partition,
           watermark: position.watermark, end: finish, lag: finish - position.watermark,
           member: position.member}
        end
      end
    end
  end
end
