# frozen_string_literal: true

module Godwit
  module Work
    # Deletes old blocks of an SQLite file, a few at a time. It keeps those that a group of the last
    # 30 days has not read, and the last one of a partition, whose end is the next offset.
    # @private
    module Retention
      SEEN = 30 * 86_400_000 # milliseconds
      SLICE = 0.01 # seconds of a transaction
      BLOCKS = 20 # between two looks at the clock

      # ?1 and ?2 are the partition's bounds, ?3 is the time before which blocks are old, ?4 the
      # first record that a group has not read.
      OLD = "FROM godwit_blocks WHERE id BETWEEN ?1 AND ?2 AND time < ?3 AND id < " \
        "(SELECT max(id) FROM godwit_blocks WHERE id BETWEEN ?1 AND ?2)"
      DELETE = "DELETE FROM godwit_blocks WHERE id IN (SELECT id #{OLD} AND id + count <= ?4 " \
        "ORDER BY id LIMIT #{BLOCKS}) RETURNING 1"
      HELD = "SELECT coalesce(sum(count), 0) #{OLD} AND id + count > ?4"
      UNREAD = "FROM godwit_positions JOIN godwit_groups g ON g.id = group_id " \
        "WHERE partition = ? AND seen > ?"
      private_constant :SEEN, :SLICE, :BLOCKS, :OLD, :DELETE, :HELD, :UNREAD

      # Deletes for about 10 ms.
      # @return [Array(Boolean, Hash{String => Integer})] whether there is more to delete, and the
      #   old records by topic that it keeps, since a group has not read them
      def retain
        held = Hash.new(0)
        finish = Timeout.now + SLICE
        more = false
        transaction do |database|
          each_old(database) do |topic, id, *bounds|
            unread = database.value("SELECT min(watermark) #{UNREAD}", id, now - SEEN)
            bounds << (unread ? bounds[0] + unread : bounds[1])
            until more || database.rows(DELETE, *bounds).size < BLOCKS
              more = Timeout.now > finish
            end
            held[topic.name] += database.value(HELD, *bounds) unless more
          end
        end
        checkpoint_now unless more
        [more, held.select { |_, count| count > 0 }]
      end

      # @return [Hash{Array(String, String) => Integer}] by topic and group the old records that are
      #   kept, since the group has not read them
      def held
        with_database do |database|
          found = Hash.new(0)
          each_old(database) do |topic, id, *bounds|
            database.rows("SELECT name, watermark #{UNREAD}", id, now - SEEN)
              .each do |group, unread|
                found[[topic.name, group]] += database.value(HELD, *bounds, bounds[0] + unread)
              end
          end
          found.select { |_, count| count > 0 }
        end
      end

      private

      def each_old(database)
        load_topics(database).each_value do |topic|
          next unless topic.retain
          before = now - (topic.retain * 1000).round
          topic.partitions.times do |partition|
            yield topic, topic.ids[partition], *range(topic, partition), before
          end
        end
      end
    end
  end
end
