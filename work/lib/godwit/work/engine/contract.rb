# frozen_string_literal: true

module Godwit
  module Work
    # What an engine does, and what the code above may use of it. Partitions and offsets are
    # Integers, times are milliseconds since 1970. Above the engines there is no SQL.
    #
    # * `topics` gives all {Topic}s, `topic(name)` gives one or nil. `create_topic(topic)` gives the
    #   topic of this name, which it creates if there is none. `alter_topic(topic)` gives it other
    #   limits, or more partitions.
    # * `append(batches)` stores `[topic, partition, block, count]` together, and gives the offset
    #   of the first record of each and the time. It returns when they are safe.
    # * `read(topic, partition, offset, bytes)` gives `[offset of its first record, time, block]`,
    #   from the block that holds the offset on; `bytes` is about how much.
    # * `bounds(topic, partition)` gives the first offset and the next that will be given.
    # * `offset_at(topic, partition, time)` gives that of the first record at or after a time.
    # * `version` changes when any process has written. `close` ends the engine.
    # * `listen` gives the {WakeUp} of this process, `wake_members` wakes the others, `dead_members`
    #   are those whose processes have ended. All others: see {Groups}, {Operations}, {Retention}.
    # @private
    module Contract
      # Topics and their records.
      LOG = %i[
        topics topic create_topic alter_topic append read bounds offset_at version now close
      ].freeze

      # What a consumer needs.
      GROUPS = %i[
        join rebalance commit release note leave listen wake_members dead_members
      ].freeze

      # What an operator needs.
      OPERATIONS = %i[
        groups members positions seek pause evict report reports storage retain held
      ].freeze

      # @param engine [Class]
      # @return [Class]
      # @raise [NotImplementedError] for missing primitives
      def self.check(engine)
        missing = [*LOG, *GROUPS, *OPERATIONS] - engine.public_instance_methods
        return engine if missing.empty?
        raise NotImplementedError, "#{engine} lacks #{missing.join(", ")}"
      end
    end
  end
end
