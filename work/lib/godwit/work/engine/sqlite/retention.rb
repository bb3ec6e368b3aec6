# frozen_string_literal: true

module Godwit
  module Work
    # Deletes the first blocks of partitions, a few at a time: old blocks, and blocks of topics with
    # too many bytes. Never deletes blocks that a group seen in the last 30 days has not read, or
    # the last block of a partition, which determines the next offset.
    # @private
    class Retention
      SEEN = 30 * 86_400_000 # milliseconds; a group without members for so long retains no records
      SLICE = 0.01 # seconds that a transaction may take
      BLOCKS = 20 # most blocks deleted between two readings of the clock
      BYTES_AT_ONCE = 1 << 20 # approximate bytes deleted between two readings of the clock
      COUNTED = 500 # most blocks counted between two readings of the clock
      ABOUT = 60_000 # milliseconds; blocks whose times differ by less count as equally old

      # A partition: its id, the least and the largest possible id of its records, and the id of the
      # first record that a group has not read.
      Partition = Struct.new(:id, :least, :largest, :unread)

      # Limits the time of a transaction, from its first change on: a search of many partitions that
      # have no old blocks does not count.
      class Slice
        # Ends the transaction after a change when the slice is over.
        def check
          now = Timeout.now
          throw :over, true if now > (@finish ||= now + SLICE)
        end
      end

      # Reads the first blocks, and one more block, which `delete` does not delete.
      FIRST_BLOCKS = "SELECT id, count, time, length(bytes) FROM godwit_blocks " \
        "WHERE id BETWEEN ? AND ? ORDER BY id LIMIT #{BLOCKS + 1}"
      NEXT = "SELECT id, time FROM godwit_blocks WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1"
      LAST_BLOCK = "SELECT max(id) FROM godwit_blocks WHERE id BETWEEN ? AND ?"
      DELETE = "DELETE FROM godwit_blocks WHERE id BETWEEN ? AND ?"
      UNREAD = "FROM godwit_positions JOIN godwit_groups g ON g.id = group_id " \
        "WHERE partition = ? AND seen > ?"
      BYTES = "SELECT sum(bytes) FROM godwit_partitions WHERE topic = (SELECT topic FROM " \
        "godwit_partitions WHERE id = ?)"
      COUNT = <<~SQL
        SELECT max(id), sum(size), count(*) FROM (
          SELECT id, length(bytes) AS size FROM godwit_blocks
          WHERE id BETWEEN
            max((SELECT counted + 1 FROM godwit_partitions WHERE id = ?1), ?2) AND ?3
          ORDER BY id LIMIT #{COUNTED})
      SQL

      # @param clock [#call] milliseconds since 1970
      def initialize(file, topics, records, clock)
        @file = file
        @topics = topics
        @records = records
        @clock = clock
      end

      # Deletes old records for about 10 ms.
      # @return [Array(Boolean, Hash{String => Integer})] whether there is more to delete; for each
      #   topic the number of old records that stay, since a group has not read them
      def retain
        slice = Slice.new
        held = {}
        more = @file.transaction do |database|
          catch(:over) do
            @topics.load(database).each_value do |topic|
              held[topic.name] = retain_topic(database, topic, slice)
            end
            false
          end
        end
        @file.checkpoint_now unless more
        [more, more ? {} : held.select { |_, records| records > 0 }]
      end

      # @return [Hash{Array(String, String) => Integer}] for each topic and group the number of old
      #   records that stay, since the group has not read them
      def held
        @file.use do |database|
          found = Hash.new(0)
          @topics.load(database).each_value do |topic|
            before = before(database, topic)
            each_unread(database, topic) do |group, partition|
              found[[topic.name, group]] += old(database, partition, before)
            end
          end
          found.select { |_, count| count > 0 }
        end
      end

      private

      # @return [Integer] number of old records that stay, since a group has not read them
      def retain_topic(database, topic, slice)
        return 0 unless topic.retain || topic.retain_bytes
        partitions = partitions(database, topic) do |id|
          database.value("SELECT min(watermark) #{UNREAD}", id, @clock.call - SEEN)
        end
        delete_old(database, topic, partitions, slice) if topic.retain
        delete_excess(database, topic, partitions, slice) if topic.retain_bytes
        before = before(database, topic)
        partitions.sum { |partition| old(database, partition, before) }
      end

      # @yieldparam id [Integer] of the partition
      # @yieldreturn [Integer, nil] the first offset that a group has not read; nil: no limit
      def partitions(database, topic)
        topic.ids.each_with_index.map do |id, number|
          least, largest = @records.range(topic, number)
          unread = yield id
          Partition.new(id, least, largest, unread ? least + unread : largest)
        end
      end

      # @yieldparam group [String] name
      # @yieldparam partition [Partition] its `unread` is for this group
      def each_unread(database, topic)
        partitions(database, topic) { nil }.each do |partition|
          database.rows("SELECT name, watermark #{UNREAD}", partition.id, @clock.call - SEEN)
            .each do |group, watermark|
            yield group, partition.dup.tap { |own| own.unread = partition.least + watermark }
          end
        end
      end

      # @return [Numeric] milliseconds since 1970: records of earlier times are to be deleted
      def before(database, topic)
        return Float::INFINITY if excess(database, topic) > 0
        topic.retain ? @clock.call - (topic.retain * 1000).round : 0
      end

      # @return [Integer] bytes of the topic above `retain_bytes`, as last counted
      def excess(database, topic)
        topic.retain_bytes ? database.value(BYTES, topic.ids[0]) - topic.retain_bytes : 0
      end

      def delete_old(database, topic, partitions, slice)
        before = @clock.call - (topic.retain * 1000).round
        partitions.each do |partition|
          slice.check while delete(database, partition) { |time, _| time < before } > 0
        end
      end

      # Deletes some of the first blocks, as long as the Ruby block returns true.
      # @return [Integer] number of deleted blocks
      def delete(database, partition)
        rows = database.rows(FIRST_BLOCKS, partition.least, partition.largest)
        remaining = BYTES_AT_ONCE
        rows = rows[0...-1].take_while do |id, count, time, bytes|
          remaining > 0 && id + count <= partition.unread && yield(time, bytes) &&
            remaining -= bytes
        end
        return 0 if rows.empty?
        database.rows(DELETE, partition.least, rows.last[0])
        counted = database.value("SELECT counted FROM godwit_partitions WHERE id = ?", partition.id)
        add(database, partition, -rows.sum { |id, _, _, bytes| (id <= counted) ? bytes : 0 })
        rows.size
      end

      # @return [Integer] number of unread records that are older than `before`: an estimate if the
      #   clock was set back, since the search expects times that grow with the ids
      def old(database, partition, before)
        first, time = database.rows(NEXT, partition.least, partition.largest).first
        return 0 if first.nil? || time >= before
        last = database.value(LAST_BLOCK, first, partition.largest)
        edge = (first..last).bsearch { |id| database.rows(NEXT, id, last)[0][1] >= before } || last
        [edge - [first, partition.unread].max, 0].max
      end

      def delete_excess(database, topic, partitions, slice)
        partitions.each { |partition| slice.check while count(database, partition) > 0 }
        excess = excess(database, topic)
        remaining = partitions
        while excess > 0 && remaining.any?
          partition, last = oldest(database, remaining)
          blocks = delete(database, partition) do |time, bytes|
            excess > 0 && time <= last && excess -= bytes
          end
          remaining -= [partition] if blocks.zero? # no block of the partition may be deleted
          slice.check if blocks > 0
        end
      end

      # @return [Array(Partition, Integer)] the partition with the oldest block, and a time in ms:
      #   this partition's blocks up to this time are deleted before other partitions' blocks
      def oldest(database, partitions)
        times = partitions.map do |one|
          database.rows(NEXT, one.least, one.largest)[0]&.last || 0
        end
        first, second = times.zip(partitions).min_by(2, &:first)
        [first.last, (second || first).first + ABOUT]
      end

      # Adds the bytes of blocks that were not counted yet, at most COUNTED blocks.
      # @return [Integer] number of these blocks
      def count(database, partition)
        id, bytes, blocks =
          database.rows(COUNT, partition.id, partition.least, partition.largest)[0]
        if id
          add(database, partition, bytes)
          database.rows("UPDATE godwit_partitions SET counted = ? WHERE id = ?", id, partition.id)
        end
        blocks
      end

      def add(database, partition, bytes)
        database.rows("UPDATE godwit_partitions SET bytes = bytes + ? WHERE id = ?", bytes,
          partition.id)
      end
    end
  end
end
