# frozen_string_literal: true

module Godwit
  module Work
    # Deletes the first blocks of partitions, a few at a time: old ones, and those of topics with
    # too many bytes. It keeps those that a group of the last 30 days has not read, and the last one
    # of a partition, whose end is the next offset.
    # @private
    module Retention
      SEEN = 30 * 86_400_000 # milliseconds
      SLICE = 0.01 # seconds of a transaction
      BLOCKS = 20 # that are deleted between two looks at the clock, at most
      BYTES_AT_ONCE = 1 << 20 # that are deleted between two looks, about
      COUNTED = 500 # blocks that are counted between two looks
      ABOUT = 60_000 # milliseconds: blocks are about as old

      # A partition: its least and largest possible id, and the id of the first record that a group
      # has not read.
      Part = Struct.new(:id, :least, :largest, :unread)

      # The end of a transaction. Its time begins with the first change: else many partitions
      # without old blocks would leave no time to change the others.
      class Slice
        # After each change.
        def look
          now = Timeout.now
          throw :over, true if now > (@finish ||= now + SLICE)
        end
      end

      # The first blocks; the last row is of a block that stays.
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
      private_constant :SEEN, :SLICE, :BLOCKS, :BYTES_AT_ONCE, :COUNTED, :ABOUT, :Part,
        :Slice, :FIRST_BLOCKS, :NEXT, :LAST_BLOCK, :DELETE, :UNREAD, :BYTES, :COUNT

      # Deletes for about 10 ms.
      # @return [Array(Boolean, Hash{String => Integer})] whether there is more to delete, and by
      #   topic the records that it keeps, since a group has not read them
      def retain
        slice = Slice.new
        held = {}
        more = transaction do |database|
          catch(:over) do
            load_topics(database).each_value do |topic|
              held[topic.name] = retain_topic(database, topic, slice)
            end
            false
          end
        end
        checkpoint_now unless more
        [more, more ? {} : held.select { |_, records| records > 0 }]
      end

      # @return [Hash{Array(String, String) => Integer}] by topic and group the records that are
      #   kept, since the group has not read them
      def held
        with_database do |database|
          found = Hash.new(0)
          load_topics(database).each_value do |topic|
            before = before(database, topic)
            each_unread(database, topic) do |group, part|
              found[[topic.name, group]] += old(database, part, before)
            end
          end
          found.select { |_, count| count > 0 }
        end
      end

      private

      # @return [Integer] records that it keeps, since a group has not read them
      def retain_topic(database, topic, slice)
        return 0 unless topic.retain || topic.retain_bytes
        parts = parts(database, topic) do |id|
          database.value("SELECT min(watermark) #{UNREAD}", id, now - SEEN)
        end
        delete_old(database, topic, parts, slice) if topic.retain
        delete_excess(database, topic, parts, slice) if topic.retain_bytes
        before = before(database, topic)
        parts.sum { |part| old(database, part, before) }
      end

      # @yieldparam id [Integer] of the partition
      # @yieldreturn [Integer, nil] the offset that a group has not read
      def parts(database, topic)
        topic.ids.each_with_index.map do |id, partition|
          least, largest = range(topic, partition)
          unread = yield id
          Part.new(id, least, largest, unread ? least + unread : largest)
        end
      end

      # @yieldparam group [String] name
      # @yieldparam part [Part] with what this group has not read
      def each_unread(database, topic)
        parts(database, topic) { nil }.each do |part|
          database.rows("SELECT name, watermark #{UNREAD}", part.id, now - SEEN)
            .each do |group, watermark|
            yield group, Part.new(part.id, part.least, part.largest, part.least + watermark)
          end
        end
      end

      # @return [Numeric] the time before which records are to be deleted
      def before(database, topic)
        return Float::INFINITY if excess(database, topic) > 0
        topic.retain ? now - (topic.retain * 1000).round : 0
      end

      # @return [Integer] bytes above the limit, by the last count
      def excess(database, topic)
        topic.retain_bytes ? database.value(BYTES, topic.ids[0]) - topic.retain_bytes : 0
      end

      def delete_old(database, topic, parts, slice)
        before = now - (topic.retain * 1000).round
        parts.each do |part|
          slice.look while delete(database, part) { |time, _| time < before } > 0
        end
      end

      # Deletes some of the first blocks, for which the block is true.
      # @yieldparam time [Integer]
      # @yieldparam bytes [Integer]
      # @return [Integer] blocks
      def delete(database, part)
        rows = database.rows(FIRST_BLOCKS, part.least, part.largest)
        left = BYTES_AT_ONCE
        taken = rows[0...-1].take_while do |id, count, time, bytes|
          left > 0 && id + count <= part.unread && yield(time, bytes) && left -= bytes
        end
        return 0 if taken.empty?
        database.rows(DELETE, part.least, taken.last[0])
        counted = database.value("SELECT counted FROM godwit_partitions WHERE id = ?", part.id)
        add(database, part, -taken.sum { |id, _, _, bytes| (id <= counted) ? bytes : 0 })
        taken.size
      end

      # @return [Integer] records before the time that a group has not read. Times grow with ids,
      #   unless the clock was set back: then it is an estimate.
      def old(database, part, before)
        first, time = database.rows(NEXT, part.least, part.largest).first
        return 0 if first.nil? || time >= before
        last = database.value(LAST_BLOCK, first, part.largest)
        edge = (first..last).bsearch { |id| database.rows(NEXT, id, last)[0][1] >= before } || last
        [edge - [first, part.unread].max, 0].max
      end

      def delete_excess(database, topic, parts, slice)
        parts.each { |part| slice.look while count(database, part) > 0 }
        excess = excess(database, topic)
        left = parts
        while excess > 0 && left.any?
          part, last = oldest(database, left)
          blocks = delete(database, part) do |time, bytes|
            excess > 0 && time <= last && excess -= bytes
          end
          left -= [part] if blocks.zero? # what it has stays
          slice.look if blocks > 0
        end
      end

      # @return [Array(Part, Integer)] the one with the oldest block, and the time until which its
      #   blocks are about as old as those of the others
      def oldest(database, parts)
        times = parts.map { |part| database.rows(NEXT, part.least, part.largest)[0]&.last || 0 }
        first, second = times.zip(parts).min_by(2, &:first)
        [first.last, (second || first).first + ABOUT]
      end

      # Adds the bytes of further blocks.
      # @return [Integer] blocks
      def count(database, part)
        id, bytes, blocks = database.rows(COUNT, part.id, part.least, part.largest)[0]
        if id
          add(database, part, bytes)
          database.rows("UPDATE godwit_partitions SET counted = ? WHERE id = ?", id, part.id)
        end
        blocks
      end

      def add(database, part, bytes)
        database.rows("UPDATE godwit_partitions SET bytes = bytes + ? WHERE id = ?", bytes, part.id)
      end
    end
  end
end
