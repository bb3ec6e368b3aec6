# frozen_string_literal: true

module Godwit
  module Work
    # What an operator asks of the groups in an SQLite file.
    # @private
    module Operations
      GROUPS = <<~SQL
        SELECT g.name, t.name, group_concat(m.id) FROM godwit_groups g
        JOIN (SELECT DISTINCT group_id, topic FROM godwit_positions
              JOIN godwit_partitions p ON p.id = partition) gt ON gt.group_id = g.id
        JOIN godwit_topics t ON t.id = gt.topic
        LEFT JOIN godwit_members m ON m.group_id = g.id AND m.topic = t.id
        GROUP BY g.id, t.id ORDER BY g.name, t.name
      SQL
      REPORTS = <<~SQL
        SELECT m.id, g.name, t.name, m.place, m.report FROM godwit_members m
        JOIN godwit_groups g ON g.id = m.group_id JOIN godwit_topics t ON t.id = m.topic
        ORDER BY m.id
      SQL
      SEEK = "UPDATE godwit_positions SET watermark = ?, state = NULL, member = NULL, noted = " \
        "NULL, generation = generation + 1, crashes = 0 WHERE group_id = ? AND partition = ?"
      private_constant :GROUPS, :REPORTS, :SEEK

      # @return [Array<Array(String, String, Array<Integer>)>] group, topic and ids of members
      def groups
        with_database { |database| database.rows(GROUPS) }
          .map { |group, topic, ids| [group, topic, ids.to_s.split(",").map(&:to_i).sort] }
      end

      # @return [Array<Array>] of each member: id, group, topic, place, and what {Groups#report}
      #   stored
      def reports = with_database { |database| database.rows(REPORTS) }

      # @param check [Boolean] whether SQLite looks for damage
      # @return [Array] the path, its bytes, those of the WAL, SQLite's version, and an Array of
      #   what is damaged
      def storage(check)
        version, *damage = with_database do |database|
          [database.value("SELECT sqlite_version()"),
            *(database.rows("PRAGMA quick_check").flatten if check)]
        end
        # A look by `stat`: to close a descriptor of the file would drop SQLite's locks.
        sizes = [@path, "#{@path}-wal"].map { |path| File.size?(path).to_i }
        [@path, *sizes, version, damage - ["ok"]]
      end

      # The group goes on at these offsets: members that have the partitions lose them.
      # @param offsets [Array<Integer>] of each partition
      def seek(group, topic, offsets)
        transaction do |database|
          each_position(database, group, topic) do |id, partition|
            database.rows(SEEK, offsets[topic.ids.index(partition)], id, partition)
          end
        end
      end

      # @param paused [Boolean] whether no record of the topic runs in this group from now on
      def pause(group, topic, paused)
        transaction do |database|
          each_position(database, group, topic) do |id, partition|
            database.rows("UPDATE godwit_positions SET paused = ? WHERE group_id = ? AND " \
              "partition = ?", paused ? 1 : 0, id, partition)
          end
        end
      end

      # Takes all partitions of a member away.
      # @return [Boolean] whether there was such a member
      def evict(member)
        transaction do |database|
          database.rows("UPDATE godwit_positions SET member = NULL WHERE member = ?", member)
          !database.value("DELETE FROM godwit_members WHERE id = ? RETURNING 1", member).nil?
        end
      end

      private

      # @raise [TopicError] when the group has never read the topic
      def each_position(database, group, topic)
        id = database.value("SELECT id FROM godwit_groups WHERE name = ?", group)
        rows = database.rows("SELECT partition FROM godwit_positions WHERE group_id = ?", id || 0)
        known = rows.flatten & topic.ids
        if known.empty?
          raise TopicError, "group #{group.inspect} has never read topic #{topic.name.inspect}: " \
            "`godwit-work groups` lists the groups"
        end
        known.each { |partition| yield id, partition }
      end
    end
  end
end
