# frozen_string_literal: true

module Godwit
  module Work
    # What an engine does, and what the code above may use of it. Partitions and offsets are
    # Integers, times are milliseconds since 1970. Above the engines there is no SQL. A write that
    # concerns other processes wakes their members.
    #
    # Topics and their records:
    #
    # * `topics` gives all {Topic}s by name. `save_topic(topic)` creates a topic that has no ids,
    #   unless there is one of its name; another gets these limits, and more partitions. It gives
    #   the topic that there is.
    # * `append(batches)` stores `[topic, partition, block, count]` together, and gives the offset
    #   of the first record of each and the time. It returns when they are safe.
    # * `read(topic, partition, offset, bytes)` gives `[offset of its first record, time, block,
    #   count]`, from the block that holds the offset on; `bytes` is about how much.
    # * `bounds(topic, partition, since = 0)` gives the offset of the first record at or after a
    #   time, else the end; and the end, which is the next offset that will be given.
    # * `version` changes when any process has written. `close` ends the engine.
    #
    # A member of a group, see {Groups}: `listen` gives the {WakeUp} of its process; `join`,
    # `rebalance`, `commit`, `release`, `leave`; `note` and `report` store what it runs, for the
    # case that this ends its process or hangs.
    #
    # An operator, see {Operations} and {Retention}: `members`, `positions`, `set`, `storage`,
    # `retain`, `held`.
    # @private
    module Contract
      PRIMITIVES = %i[
        topics save_topic append read bounds version close
        listen join rebalance commit release leave note report
        members positions set storage retain held
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
