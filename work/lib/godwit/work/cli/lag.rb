# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work lag`: shows how far each group is in each partition.
      class Lag < Listing
        summary "Lists how far each group is in each partition, and the member that has it. " \
          "Names processes that do not report."
        usage "lag [--json]"

        private

        def rows(arguments)
          accept(arguments)
          @members = client.engine.members.to_h { |one| [one.id, one] }
          @ends = client.end_offsets
          client.engine.positions.map { |one| row(one) }
        end

        def row(position)
          finish = @ends[position.topic][position.partition]
          {group: position.group, topic: position.topic.name, partition: position.partition,
           watermark: position.watermark, end: finish, lag: finish - position.watermark,
           member: position.member, **process(@members[position.member])}
        end

        # Adds the member's process to a row of JSON. A table has no such column: below it `table`
        # prints a line for each silent process.
        def process(member)
          return {} unless options[:json]
          {process: nil, host: nil, **(member&.facts || {}).slice(:process, :host),
           silent: member&.silent&.floor}
        end

        def table(rows)
          super
          @members.each_value { |one| io.puts Printable.text(one.advice) if one.silent? }
        end
      end
    end
  end
end
