# frozen_string_literal: true

module Godwit
  module Work
    # Groups in an SQLite file: members claim and release partitions in short transactions, without
    # a leader. Each claim of a partition increments its generation. A commit with an older
    # generation fails.
    # @private
    class Groups
      SEEN_EVERY = 3_600_000 # ms between two updates of `seen`, a group's last time with a member
      BITS = Records::OFFSET_BITS

      GROUP = "SELECT id FROM godwit_groups WHERE name = ?"
      POSITIONS = <<~SQL
        SELECT partition, member, generation, watermark, state, crashes, noted, paused,
          crashed_at
        FROM godwit_positions JOIN godwit_partitions ON id = partition
        WHERE group_id = ? AND topic = (SELECT topic FROM godwit_partitions WHERE id = ?)
        ORDER BY partition
      SQL
      READ = <<~SQL
        SELECT DISTINCT g.name, t.name FROM godwit_positions
        JOIN godwit_partitions p ON p.id = partition
        JOIN godwit_topics t ON t.id = p.topic JOIN godwit_groups g ON g.id = group_id
        ORDER BY g.name, t.name
      SQL
      OWNED = "WHERE group_id = ? AND partition = ? AND member = ? AND generation = ? RETURNING 1"
      CLAIM = <<~SQL
        UPDATE godwit_positions SET member = ?, generation = generation + 1
        WHERE group_id = ? AND partition = ? RETURNING generation
      SQL
      RELEASE = "UPDATE godwit_positions SET member = NULL #{OWNED}"
      COMMIT = "UPDATE godwit_positions SET crashes = ?, watermark = ?, state = ?, noted = NULL " \
        "#{OWNED}"
      # Counts a process that ended without a release, if the partition had unfinished records. At
      # another watermark the count begins again, unless it has reached Assignment::CRASHES.
      CRASH = <<~SQL
        UPDATE godwit_positions SET member = NULL,
          crashed_at = CASE WHEN crashes >= #{Assignment::CRASHES} THEN crashed_at
            ELSE watermark END,
          crashes = CASE WHEN (partition << #{BITS}) + watermark < (
              SELECT id + count FROM godwit_blocks
              WHERE id BETWEEN partition << #{BITS} AND (partition + 1 << #{BITS}) - 1
              ORDER BY id DESC LIMIT 1)
            THEN CASE WHEN crashed_at IS watermark OR crashes >= #{Assignment::CRASHES}
              THEN crashes + 1 ELSE 1 END
            ELSE 0 END
        WHERE member = ?
      SQL

      # @param clock [#call] milliseconds since 1970
      def initialize(file, processes, topics, records, clock)
        @file = file
        @processes = processes
        @topics = topics
        @records = records
        @clock = clock
      end

      # @param path [String] path of the process's FIFO
      # @param starts [Array<Integer>] for each partition, the offset at which a new group begins
      def join(group, topic, path, starts)
        fifo = File.basename(path)
        @file.transaction do |database|
          id = group_id(database, group)
          topic = @topics.load(database).fetch(topic.name)
          add_positions(database, id, topic, starts)
          member = database.value("INSERT INTO godwit_members (group_id, topic, place) " \
            "SELECT ?, topic, ? FROM godwit_partitions WHERE id = ? RETURNING id", id, fifo,
            topic.ids.first)
          Member.new(member, group, topic, fifo)
        end
      end

      # Claims the free partitions of this member's share, also those of members whose processes
      # have ended.
      # @param evicted [Array<Integer>] ids of members to remove, as if their processes had ended
      # @return [Share, nil] nil: no connection has written since the last call
      # @raise [LostError] when the member was removed: its process seemed dead, or it was evicted
      def rebalance(member, evicted = [])
        departed = @processes.departed(member)
        if departed.empty? && evicted.empty? && member.state == @file.use { |one| state(one) }
          return
        end
        share, state = @file.transaction do |database|
          [*departed.keys, *evicted].each { |id| bury(database, id) }
          [share_of(member, database), state(database)]
        end
        member.state = state # only after the commit: else the next call would return nil
        @processes.buried(departed.values)
        share
      end

      # @param positions [Array<Position>] with their new watermarks and states
      # @param statements [#call, nil] gets the Database, for statements of the same transaction
      # @yieldreturn [Array<Array>] batches of outputs, as for {Records#append}
      # @return [Array<Array(Integer, Integer)>] first offset and time of each batch
      # @raise [LostError] when a member no longer owns its partition: nothing was written
      def commit(positions, statements = nil)
        outputs = []
        written = @file.transaction(checkpoint: true) do |database|
          Thread.handle_interrupt(Object => :immediate) { statements.call(database) } if statements
          outputs = @records.seal(yield) if block_given?
          positions.each do |one|
            update(database, one, COMMIT, one.crashes, one.watermark, one.state)
          end
          @records.insert(database, outputs)
        end
        @processes.wake(outputs) if outputs.any?
        written
      end

      # Releases partitions after their last commit, except partitions that the member has lost.
      def release(positions)
        @file.transaction { |database| positions.each { |one| write_own(database, one, RELEASE) } }
        @processes.wake
      end

      # Stores the offset of the record that runs next, since that record may end the process.
      def note(position, offset)
        @file.transaction do |database|
          update(database, position, "UPDATE godwit_positions SET noted = ? #{OWNED}", offset)
        end
      end

      # Stores a report of the member's stuck handlers.
      def report(member, text)
        @file.transaction do |database|
          database.rows("UPDATE godwit_members SET report = ? WHERE id = ?", text, member.id)
        end
      end

      # Removes a member that leaves or is evicted: other members can then claim its partitions.
      # @param member [Integer] id
      # @return [Boolean] whether there was such a member
      def leave(member)
        name = @file.transaction do |database|
          database.rows("UPDATE godwit_positions SET member = NULL WHERE member = ?", member)
          database.value("DELETE FROM godwit_members WHERE id = ? RETURNING place", member)
        end
        @processes.wake
        @processes.removed(name) if name
        !name.nil?
      end

      # @param group [String, nil] nil: all groups and topics, sorted by name
      # @return [Array<Position>] sorted by partition
      def positions(group = nil, topic = nil)
        @file.use do |database|
          found = group ? [[group, topic]] : read_topics(database)
          found.flat_map do |name, read|
            database.rows(POSITIONS, database.value(GROUP, name) || 0, read.ids.first)
              .map { |row| position(name, read, row) }
          end
        end
      end

      private

      # @return [Array<Array(String, Topic)>] name of a group, and a topic that the group reads
      def read_topics(database)
        found = database.rows(READ)
        topics = @topics.load(database)
        found.map { |group, topic| [group, topics.fetch(topic)] }
      end

      # @return [Array] numbers that change with each write to the file, and every SEEN_EVERY ms
      def state(database) = [database.data_version, database.changes, @clock.call / SEEN_EVERY]

      def share_of(member, database)
        unless database.value("SELECT 1 FROM godwit_members WHERE id = ?", member.id)
          raise LostError, "member #{member.id} of group #{member.group} was removed: join again"
        end
        group = group_id(database, member.group)
        database.rows("UPDATE godwit_groups SET seen = ?1 WHERE id = ?2 AND seen < ?1 - ?3",
          @clock.call, group, SEEN_EVERY)
        positions = database.rows(POSITIONS, group, member.topic.ids.first)
        if positions.size > member.topic.partitions # the topic has new partitions
          member.topic = @topics.load(database).fetch(member.topic.name)
        end
        share = share(positions, members_of(database, group, member.topic), member.id)
        kept = positions.filter_map do |row|
          [member.topic.number(row[0]), row[2]] if row[1] == member.id
        end.to_h
        free = positions.select { |row| row[1].nil? }.first([share - kept.size, 0].max)
        Share.new(free.map { |row| claim(database, group, member, row) },
          kept.keys.last([kept.size - share, 0].max), kept,
          positions.filter_map { |row| member.topic.number(row[0]) if row[7] == 1 })
      end

      def group_id(database, name)
        database.value(GROUP, name) ||
          database.value("INSERT INTO godwit_groups (name) VALUES (?) RETURNING id", name)
      end

      def add_positions(database, group, topic, starts)
        known = database.rows("SELECT partition FROM godwit_positions WHERE group_id = ?", group)
          .flatten
        (topic.ids - known).each do |id|
          start = starts.fetch(topic.number(id), 0) # 0: the partition is newer than `starts`
          database.rows("INSERT INTO godwit_positions (group_id, partition, watermark) " \
            "VALUES (?, ?, ?)", group, id, start)
        end
      end

      def members_of(database, group, topic)
        database.rows("SELECT id FROM godwit_members WHERE group_id = ? AND topic = (SELECT " \
          "topic FROM godwit_partitions WHERE id = ?) ORDER BY id", group, topic.ids.first).flatten
      end

      # Computes this member's share. Shares differ by at most one. The members with the most
      # partitions have the larger shares, so that no partition moves without need.
      def share(positions, members, id)
        counts = positions.map { |row| row[1] }.tally
        least, more = positions.size.divmod(members.size)
        order = members.sort_by { |member| [-counts.fetch(member, 0), member] }
        least + ((order.index(id) < more) ? 1 : 0)
      end

      def claim(database, group, member, row)
        position(member.group, member.topic, row).tap do |claimed|
          claimed.member = member.id
          claimed.generation = database.value(CLAIM, member.id, group, row[0])
        end
      end

      def position(group, topic, row)
        id, *rest = row
        Position.new(group, topic, topic.number(id), *rest)
      end

      # @raise [LostError] unless the member owns the partition in this generation
      def update(database, one, sql, *values)
        return if write_own(database, one, sql, *values)
        raise LostError.of(one.topic, one.partition)
      end

      def write_own(database, one, sql, *values)
        database.value(sql, *values, group_id(database, one.group), one.topic.ids[one.partition],
          one.member, one.generation)
      end

      def bury(database, id)
        database.rows(CRASH, id)
        database.rows("DELETE FROM godwit_members WHERE id = ?", id)
      end
    end
  end
end
