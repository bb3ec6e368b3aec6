# frozen_string_literal: true

module Godwit
  module Work
    # Reads and changes the groups in an SQLite file for an operator.
    # @private
    class Operations
      AT_ONCE = 1 << 20 # bytes that the check for damage reads at a time
      MEMBERS = <<~SQL
        SELECT m.id, g.name, t.name, m.place, m.report FROM godwit_members m
        JOIN godwit_groups g ON g.id = m.group_id JOIN godwit_topics t ON t.id = m.topic
        ORDER BY m.id
      SQL
      SEEK = "UPDATE godwit_positions SET watermark = ?, state = NULL, member = NULL, noted = " \
        "NULL, generation = generation + 1, crashes = 0 WHERE group_id = ? AND partition = ?"
      PAUSE = "UPDATE godwit_positions SET paused = ? WHERE group_id = ? AND partition = ?"

      def initialize(file, processes, topics, records)
        @file = file
        @processes = processes
        @topics = topics
        @records = records
      end

      # @return [Array<Listed>] the members of all groups
      def members
        rows = @file.use { |database| database.rows(MEMBERS) }
        facts = @processes.facts(rows.map { |id, _, _, fifo, _| [id, fifo] })
        rows.zip(facts).map do |(id, group, topic, _, report), (pid, host, alive, silent)|
          Listed.new(id, group, topic, pid, host, report, alive, silent)
        end
      end

      # @param check [Boolean] whether to check for damage, which reads the whole file
      # @return [Array(Hash{Symbol => Object}, Array<String>)] facts of the file; a text per damage
      def storage(check)
        # The size comes from `stat`: closing a descriptor of the file would drop SQLite's locks.
        path = @file.path
        bytes, wal_bytes = [path, "#{path}-wal"].map { |one| File.size?(one).to_i }
        [{path: path, bytes: bytes, wal_bytes: wal_bytes, sqlite: SQLite3::SQLITE_LOADED_VERSION},
          check ? damage : []]
      end

      # @param offsets [Array<Integer, nil>, nil] for each partition, the offset at which the group
      #   continues: the owner loses the partition. nil: the group's offset does not change
      # @param paused [Boolean, nil] true: the group runs no record of the topic; nil: no change
      # @raise [TopicError] when the group has never read the topic
      def set(group, topic, offsets: nil, paused: nil)
        @file.transaction do |database|
          each_position(database, group, topic) do |id, partition|
            offset = offsets && offsets[topic.number(partition)]
            database.rows(SEEK, offset, id, partition) if offset
            database.rows(PAUSE, paused ? 1 : 0, id, partition) unless paused.nil?
          end
        end
        @processes.wake
      end

      private

      # @return [Array<String>] a text for each damage
      def damage
        found = []
        add_damage(found) do
          found.concat(@file.use { |one| one.rows("PRAGMA quick_check") }.flatten - ["ok"])
        end
        add_damage(found) do
          @topics.all.each_value do |topic|
            topic.partitions.times { |number| check_blocks(topic, number, found) }
          end
        end
        found
      end

      def add_damage(found)
        yield
      rescue CorruptError => error
        found << error.message
      end

      # Reads all blocks of a partition, even if a damaged row has a count of 0 or less.
      def check_blocks(topic, partition, found)
        offset = -1
        add_damage(found) do
          loop do
            rows = @records.rows(topic, partition, [offset, 0].max, AT_ONCE)
            break if rows.empty? || rows.last.first < offset # the partition has no more blocks
            rows.each do |base, time, bytes, count|
              add_damage(found) { @records.block(topic, partition, base, time, bytes, count) }
              offset = [base + count, base + 1].max
            end
          end
        end
      end

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
