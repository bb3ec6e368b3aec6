# frozen_string_literal: true

module Godwit
  module Work
    # What an engine does for topics, and what the code above may use of it. Partitions and offsets
    # are Integers, times are milliseconds since 1970. Above the engines there is no SQL.
    #
    # * `topics` gives all {Topic}s, `topic(name)` one or nil, `create_topic(topic)` the one that is
    #   there from then on. `alter_topic(topic)` gives it other limits, or more partitions.
    # * `append(batches)` stores `[topic, partition, block, count]` together, and gives the offset
    #   of the first record of each and the time. It returns when they are safe.
    # * `read(topic, partition, offset, bytes)` gives `[offset of its first record, time, block]`,
    #   from the block that holds the offset on; `bytes` is about how much.
    # * `bounds(topic, partition)` gives the first offset and the next that will be given.
    # * `offset_at(topic, partition, time)` gives that of the first record at or after a time.
    # * `version` changes when any process has written. `close` ends it; `closed?` tells.
    # * `join`, `rebalance`, `commit`, `release`, `note`, `report`, `leave`, `members`, `positions`:
    #   see {Groups}.
    # * `groups`, `seek`, `pause`, `evict`, `reports`, `storage`: see {Operations}; `retain` and
    #   `held`: see {Retention}.
    # * `listen` gives the {WakeUp} of this process, `wake_members` wakes the others.
    # @private
    module Contract
      PRIMITIVES = %i[
        topics topic create_topic alter_topic append read bounds offset_at version now close closed?
        join rebalance commit release note report leave members positions listen wake_members
        dead_members groups seek pause evict reports storage retain held
      ].freeze

      # @param engine [Class]
      # @return [Class]
      # @raise [NotImplementedError] for missing primitives
      def self.check(engine)
        missing = PRIMITIVES - engine.public_instance_methods
        return engine if missing.empty?
        raise NotImplementedError, "#{engine} lacks #{missing.join(", ")}"
      end
    end
  end
end
