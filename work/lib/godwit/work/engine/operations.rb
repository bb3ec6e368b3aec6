# frozen_string_literal: true

module Godwit
  module Work
    # What an operator asks of the groups in an SQLite file.
    # @private
    module Operations
      AT_ONCE = 1 << 20 # bytes that a look for damage reads
      MEMBERS = <<~SQL
        SELECT m.id, g.name, t.name, m.place, m.report FROM godwit_members m
        JOIN godwit_groups g ON g.id = m.group_id JOIN godwit_topics t ON t.id = m.topic
        ORDER BY m.id
      SQL
      SEEK = "UPDATE godwit_positions SET watermark = ?, state = NULL, member = NULL, noted = " \
        "NULL, generation = generation + 1, crashes = 0 WHERE group_id = ? AND partition = ?"
      PAUSE = "UPDATE godwit_positions SET paused = ? WHERE group_id = ? AND partition = ?"
      private_constant :AT_ONCE, :MEMBERS, :SEEK, :PAUSE

      # @return [Array<Listed>]
      def members
        known = {} # a process has a member for each class
        with_database { |database| database.rows(MEMBERS) }
          .map do |id, group, topic, name, report|
            place = place(name)
            process = known[process_of(id, place)] ||=
              [WakeUp.pid(place), WakeUp.host(place), alive?(id, place), silent_for(id, place)]
            pid, host, alive, silent = process
            Listed.new(id, group, topic, pid, host, report, alive, silent)
          end
      end

      # @param check [Boolean] whether to look for damage, which reads the whole file
      # @return [Array(Hash{Symbol => Object}, Array<String>)] the path, its bytes, those of the
      #   WAL, SQLite's version; and what is damaged
      def storage(check)
        # A look by `stat`: to close a descriptor of the file would drop SQLite's locks.
        bytes, wal_bytes = [@path, "#{@path}-wal"].map { |path| File.size?(path).to_i }
        [{path: @path, bytes: bytes, wal_bytes: wal_bytes, sqlite: SQLite3::SQLITE_LOADED_VERSION},
          check ? damage : []]
      end

      # @param offsets [Array<Integer, nil>, nil] of each partition, at which the group goes on:
      #   members that have the partitions lose them; nil: it stays
      # @param paused [Boolean, nil] whether no record of the topic runs in this group from now on
      # @raise [TopicError] when the group has never read the topic
      def set(group, topic, offsets: nil, paused: nil)
        transaction do |database|
          each_position(database, group, topic) do |id, partition|
            offset = offsets && offsets[topic.number(partition)]
            database.rows(SEEK, offset, id, partition) if offset
            database.rows(PAUSE, paused ? 1 : 0, id, partition) unless paused.nil?
          end
        end
        wake_members
      end

      private

      # @return [Array<String>]
      def damage
        found = []
        add_damage(found) do
          found.concat(with_database { |one| one.rows("PRAGMA quick_check") }.flatten - ["ok"])
        end
        add_damage(found) do
          topics.each_value do |topic|
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

      # Reads all blocks of a partition. A damaged row may have any count.
      def check_blocks(topic, partition, found)
        offset = -1
        add_damage(found) do
          loop do
            rows = rows(topic, partition, [offset, 0].max, AT_ONCE)
            break if rows.empty? || rows.last.first < offset # it has no further ones
            rows.each do |base, time, bytes, count|
              add_damage(found) { block(topic, partition, base, time, bytes, count) }
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
