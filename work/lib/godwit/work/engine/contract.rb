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
    # * `append(batches)` stores `[topic, partition, bytes of a {Block}, count]` together, and gives
    #   for each the offset of its first record and the time, or an Array of the offsets of its
    #   records and one of their times. It returns when they are safe. For a copy a batch has also
    #   the times of its records, as int64.
    # * `read(topic, partition, offset, bytes)` gives {Block}s or objects like them, from the one on
    #   that holds the offset; `bytes` is about how much. `fetch(position, offset, bytes)` does it
    #   for a member that owns the partition, also twice from the same offset; a block has
    #   `behind_gap` when records between the offset and the block are lost.
    # * `bounds(topic, since = 0)` gives for each partition the offset of the first record at or
    #   after a time, else the end; and the end, which is the next offset that will be given.
    # * `version` changes when any process has written. `close` ends the engine.
    #
    # A member of a group, see {Groups}: `listen` gives what wakes its process, as {WakeUp}, with
    # `path`, `io`, `clear`, `lost?`, `report`, `close`; `join`, `rebalance`, `commit`, `release`,
    # `leave`; `note` and `report` store what it runs, for the case that this ends its process or
    # hangs. `rebalance` claims partitions of dead members. `commit_every` is the time in seconds
    # between two commits of a process whose workers end records all the time.
    #
    # An operator, see {Operations} and {Retention}: `members`, `positions`, `set`, `storage`,
    # `retain`, `held`. `restore(positions)` stores the positions of groups without members, for a
    # copy. `lacks` names what an engine cannot do, of NEEDS.
    # @private
    module Contract
      PRIMITIVES = %i[
        topics save_topic append read fetch bounds version close lacks
        listen join rebalance commit commit_every release leave note report
        members positions set restore storage retain held
      ].freeze
      # The features that some engines lack, and the way around each.
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

      # @param name [Symbol] of NEEDS
      # @raise [UnsupportedError] unless the engine can do it
      def self.need(engine, name)
        return unless engine.lacks.include?(name)
        raise Godwit::Errors.of(UnsupportedError, name, "not on this log: #{NEEDS.fetch(name)}")
      end
    end
  end
end
