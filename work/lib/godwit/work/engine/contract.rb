# frozen_string_literal: true

module Godwit
  module Work
    # The methods of an engine that other code may call. Partitions and offsets are Integers, times
    # are milliseconds since 1970. Only engines contain SQL. A write that concerns other processes
    # wakes their members.
    #
    # Topics and their records:
    #
    # * `topics` returns all {Topic}s by name. `save_topic(topic)` creates a topic that has no ids,
    #   unless a topic of this name exists. A topic with ids gets the new limits, and more
    #   partitions. The method returns the topic as the engine has it now.
    # * `append(batches)` stores batches together. A batch is an Array: topic, partition, bytes of a
    #   {Block}, count; for a copy also the times of the records, as int64. `append` returns when
    #   the batches are stored. For each batch it returns the offset and the time of the first
    #   record, or two Arrays: the offsets and the times of all records.
    # * `read(topic, partition, offset, bytes)` returns {Block}s or objects like them. The first one
    #   contains the offset; all together have about `bytes` bytes. `fetch(position, offset, bytes)`
    #   does the same for a member that owns the partition, also twice from one offset. A block
    #   has `behind_gap` when records between the offset and the block are lost.
    # * `bounds(topic, since = 0)` returns two offsets for each partition: the first record at or
    #   after a time, or else the end; and the end, which is the offset of the next record.
    # * `version` changes when any process has written. `close` ends the engine.
    #
    # A member of a group, see {Groups}, calls `join`, `rebalance`, `commit`, `release` and `leave`.
    # `listen` returns an object like {WakeUp} that wakes the member's process; it has `path`, `io`,
    # `clear`, `lost?`, `report` and `close`. `note` and `report` store the records that the member
    # runs, in case a record ends the process or hangs. `rebalance` claims partitions of dead
    # members. `commit_every` is the time in seconds between two commits of a busy process.
    #
    # An operator, see {Operations} and {Retention}: `members`, `positions`, `set`, `storage`,
    # `retain`, `held`. `restore(positions)` stores the positions of groups without members, for a
    # copy. `lacks` returns the keys of NEEDS that the engine cannot do.
    # @private
    module Contract
      PRIMITIVES = %i[
        topics save_topic append read fetch bounds version close lacks
        listen join rebalance commit commit_every release leave note report
        members positions set restore storage retain held
      ].freeze
      # Features that some engines lack, and what the error says to do instead.
      NEEDS = {
        copy: "godwit-work copies to Kafka alone: name a kafka: URL as the second one",
        evict: "the log gives the partitions of a process that is gone to others by itself",
        fork: "a child process of the program connects anew",
        transaction: "SQL needs a log in an SQLite file: connect to a sqlite: URL, or use produce"
      }.freeze

      # @raise [NotImplementedError] for missing primitives
      def self.check(engine)
        missing = PRIMITIVES - engine.public_instance_methods
        return engine if missing.empty?
        raise NotImplementedError, "#{engine} lacks #{missing.join(", ")}"
      end

      # @param name [Symbol] a key of NEEDS
      # @raise [UnsupportedError] if the engine lacks the feature
      def self.need(engine, name)
        return unless engine.lacks.include?(name)
        raise Godwit::Errors.of(UnsupportedError, name, "not on this log: #{NEEDS.fetch(name)}")
      end
    end
  end
end
