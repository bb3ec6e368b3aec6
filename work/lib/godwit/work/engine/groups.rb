# frozen_string_literal: true

module Godwit
  module Work
    # Groups in an SQLite file: members claim and release partitions in short transactions, without
    # a leader. Each claim has a number of its own, the generation: a commit with an older one
    # fails.
    # @private
    module Groups
      PLACES = 0.25 # seconds for which a process believes that the members are the same
      SEEN_EVERY = 3_600_000 # milliseconds between two notes that a group is alive
      BITS = Records::OFFSET_BITS
      private_constant :PLACES, :SEEN_EVERY, :BITS

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
      MEMBERS_BY_PLACE = "SELECT id, place FROM godwit_members"
      OWNED = "WHERE group_id = ? AND partition = ? AND member = ? AND generation = ? RETURNING 1"
      CLAIM = <<~SQL
        UPDATE godwit_positions SET member = ?, generation = generation + 1
        WHERE group_id = ? AND partition = ? RETURNING generation
      SQL
      RELEASE = "UPDATE godwit_positions SET member = NULL #{OWNED}"
      COMMIT = "UPDATE godwit_positions SET crashes = ?, watermark = ?, state = ?, noted = NULL " \
        "#{OWNED}"
      # The end of a process that did not leave. Two at the same watermark are no accident, unless
      # all records were finished. The third one may be behind it.
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
      private_constant :GROUP, :POSITIONS, :READ, :MEMBERS_BY_PLACE, :OWNED, :CLAIM, :RELEASE,
        :COMMIT, :CRASH

      # @param group [String]
      # @param topic [Topic]
      # @param place [String] the FIFO of the process
      # @param starts [Array<Integer>] the offsets at which a new group begins
      # @return [Member]
      def join(group, topic, place, starts)
        transaction do |database|
          id = group_id(database, group)
          topic = load_topics(database).fetch(topic.name)
          add_positions(database, id, topic, starts)
          member = database.value("INSERT INTO godwit_members (group_id, topic, place) " \
            "SELECT ?, topic, ? FROM godwit_partitions WHERE id = ? RETURNING id", id,
            File.basename(place), topic.ids.first)
          Member.new(member, group, topic, File.basename(place))
        end
      end

      # Takes the free partitions of this member's share, also those of members whose processes
      # have ended.
      # @param evicted [Array<Integer>] members that lose their partitions, as if they had ended
      # @return [Share, nil] nil: no connection has written since the last one
      # @raise [LostError] when the member was taken for dead, or evicted
      def rebalance(member, evicted = [])
        dead = ended(member)
        if dead.empty? && evicted.empty? && member.state == with_database { |one| file_state(one) }
          return
        end
        share, state = transaction do |database|
          [*dead.keys, *evicted].each { |id| bury(database, id) }
          [share_of(member, database), file_state(database)]
        end
        member.state = state # it is committed
        dead.each_value { |place| WakeUp.remove(place) }
        @ended = {}
        share
      end

      # @param positions [Array<Position>] with their new watermarks and states
      # @param statements [#call, nil] gets the Database, for statements of the same transaction
      # @yieldreturn [Array<Array>] batches, as {SqliteEngine#append} takes them
      # @return [Array<Array(Integer, Integer)>] the place of each output
      # @raise [LostError] when the member no longer owns one of them: nothing was written
      def commit(positions, statements = nil)
        outputs = []
        places = transaction(and_checkpoint: true) do |database|
          Thread.handle_interrupt(Object => :immediate) { statements.call(database) } if statements
          outputs = seal(yield) if block_given?
          positions.each do |one|
            update(database, one, COMMIT, one.crashes, one.watermark, one.state)
          end
          @commits += 1 if outputs.any?
          insert_blocks(database, outputs)
        end
        wake_members(outputs) if outputs.any?
        places
      end

      # Gives partitions up, after their last commit. Those that the member has lost stay as they
      # are.
      # @param positions [Array<Position>]
      def release(positions)
        transaction { |database| positions.each { |one| write_own(database, one, RELEASE) } }
        wake_members
      end

      # Notes the record that runs next, for the case that it ends the process.
      # @raise [LostError]
      def note(position, offset)
        transaction do |database|
          update(database, position, "UPDATE godwit_positions SET noted = ? #{OWNED}", offset)
        end
      end

      # Stores what the member says of its stuck handlers.
      # @param text [String, nil]
      def report(member, text)
        transaction do |database|
          database.rows("UPDATE godwit_members SET report = ? WHERE id = ?", text, member.id)
        end
      end

      # A member leaves, or an operator evicts it: what it owned is free.
      # @param member [Integer] id
      # @return [Boolean] whether there was such a member
      def leave(member)
        name = transaction do |database|
          database.rows("UPDATE godwit_positions SET member = NULL WHERE member = ?", member)
          database.value("DELETE FROM godwit_members WHERE id = ? RETURNING place", member)
        end
        wake_members
        WakeUp.remove(place(name)) unless name.nil? || alive?(member, place(name))
        !name.nil?
      end

      # @param group [String, nil] nil: all groups and topics, by name
      # @param topic [Topic, nil]
      # @return [Array<Position>] by partition
      def positions(group = nil, topic = nil)
        with_database do |database|
          found = group ? [[group, topic]] : read_topics(database)
          found.flat_map do |name, read|
            database.rows(POSITIONS, database.value(GROUP, name) || 0, read.ids.first)
              .map { |row| position(name, read, row) }
          end
        end
      end

      private

      # @return [Array<Array(String, Topic)>] groups and what they have read
      def read_topics(database)
        found = database.rows(READ)
        topics = load_topics(database)
        found.map { |group, topic| [group, topics.fetch(topic)] }
      end

      # It changes with each write of any connection, and once in SEEN_EVERY.
      def file_state(database) = [database.data_version, database.changes, now / SEEN_EVERY]

      # @raise [LostError]
      def share_of(member, database)
        unless database.value("SELECT 1 FROM godwit_members WHERE id = ?", member.id)
          raise LostError, "member #{member.id} of group #{member.group} was removed: join again"
        end
        group = group_id(database, member.group)
        database.rows("UPDATE godwit_groups SET seen = ?1 WHERE id = ?2 AND seen < ?1 - ?3", now,
          group, SEEN_EVERY)
        positions = database.rows(POSITIONS, group, member.topic.ids.first)
        if positions.size > member.topic.partitions # it grew
          member.topic = load_topics(database).fetch(member.topic.name)
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

      # A process has a member for each class: one looks for all.
      # @return [Hash{Integer => String}] the members whose processes have ended, and their FIFOs;
      #   none of this process
      def ended(member)
        now = Timeout.now
        return @ended if now < @ended_until
        own = [member.place, *@places]
        others = with_database { |database| database.rows(MEMBERS_BY_PLACE) }
          .reject { |_, name| own.include?(name) }
        gone = others.map(&:last).uniq.reject { |name| WakeUp.alive?(place(name)) }
        @ended_until = now + PLACES / 2
        @ended = others.select { |_, name| gone.include?(name) }
          .to_h { |id, name| [id, place(name)] }
      end

      def transaction(and_checkpoint: false)
        with_database do |database|
          database.transaction { yield database }.tap { checkpoint(0) if and_checkpoint }
        end
      end

      def group_id(database, name)
        database.value(GROUP, name) ||
          database.value("INSERT INTO godwit_groups (name) VALUES (?) RETURNING id", name)
      end

      def add_positions(database, group, topic, starts)
        known = database.rows("SELECT partition FROM godwit_positions WHERE group_id = ?", group)
          .flatten
        (topic.ids - known).each do |id|
          start = starts.fetch(topic.number(id), 0) # 0: the topic grew meanwhile
          database.rows("INSERT INTO godwit_positions (group_id, partition, watermark) " \
            "VALUES (?, ?, ?)", group, id, start)
        end
      end

      def members_of(database, group, topic)
        database.rows("SELECT id FROM godwit_members WHERE group_id = ? AND topic = (SELECT " \
          "topic FROM godwit_partitions WHERE id = ?) ORDER BY id", group, topic.ids.first).flatten
      end

      # Shares differ by at most one. The members with the most partitions have the larger ones, so
      # that no partition moves without need.
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
