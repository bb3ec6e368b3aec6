# frozen_string_literal: true

require "godwit/fork_detector"

module Godwit
  module Work
    # The log in one SQLite file, which many processes share. Each process has two connections: one
    # for everything, one for checkpoints. A forked child opens its own.
    #
    # The `id` of a block is the id of its partition, then the offset of its first record: so the
    # blocks of a partition lie together, in order.
    # @private
    class SqliteEngine
      include Groups
      include Operations
      include Retention

      LARGEST = (1 << OFFSET_BITS) - 1 # offset
      # Bytes that this process writes between two checkpoints, about.
      CHECKPOINT = 8 << 20
      COMMIT = 8 << 10 # bytes of a commit beside its blocks: a page or two
      # Seconds for which a process believes that the members are the same, and the topics.
      PLACES = 0.25
      KNOWN = 1
      private_constant :LARGEST, :CHECKPOINT, :COMMIT, :PLACES, :KNOWN

      # ?1 is the partition's least id, ?2 its largest.
      LAST = "SELECT id + count FROM godwit_blocks WHERE id BETWEEN ?1 AND ?2 " \
        "ORDER BY id DESC LIMIT 1"
      FIRST = "SELECT id FROM godwit_blocks WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1"
      APPEND = "INSERT INTO godwit_blocks (id, count, time, bytes) " \
        "VALUES (coalesce((#{LAST}), ?1), ?3, ?4, ?5)"
      # From the block that holds ?3 on, which may begin before it.
      READ = <<~SQL
        SELECT id, time, bytes FROM godwit_blocks WHERE id BETWEEN coalesce((SELECT id
          FROM godwit_blocks WHERE id BETWEEN ?1 AND ?3 ORDER BY id DESC LIMIT 1), ?1) AND ?2
        ORDER BY id
      SQL
      AT_TIME = "SELECT id FROM godwit_blocks WHERE id BETWEEN ?1 AND ?2 AND time >= ?3 " \
        "ORDER BY id LIMIT 1"
      TOPICS = <<~SQL
        SELECT name, format, partitioner, retain, retain_bytes, group_concat(p.id)
        FROM godwit_topics t JOIN godwit_partitions p ON p.topic = t.id GROUP BY t.id ORDER BY name
      SQL
      private_constant :LAST, :FIRST, :APPEND, :READ, :AT_TIME, :TOPICS

      # @param path [String] of the file, which it creates
      # @param durability [Symbol] :process: records survive the end of the process; :power: an
      #   fsync for each commit, so that they survive a power cut, too
      # @param clock [#call] milliseconds since 1970
      def initialize(path, durability: :process, clock: nil)
        # Other processes have other working directories.
        @path = (path == Database::MEMORY) ? path : File.expand_path(path)
        @opening = Mutex.new
        @durability = durability
        @clock = clock || -> { Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) }
        open
      end

      # @return [Array<Topic>] by name
      def topics = all_topics.values

      # @return [Topic, nil] as it was less than a second ago: another process may change it
      def topic(name)
        known = @topics[name] if Timeout.now < @topics_until
        known || all_topics[name]
      end

      # @param topic [Topic] all of its settings
      # @return [Topic] this one, or the one of this name that there is
      def create_topic(topic)
        with_database do |database|
          database.transaction do
            insert_topic(database, topic) unless load_topics(database).key?(topic.name)
          end
          load_topics(database)
        end
        @topics[topic.name]
      end

      # New partitions begin unread for each group: nothing in them is missed.
      # @param topic [Topic] its name, its limits, and nil or more partitions than it has
      # @return [Topic]
      def alter_topic(topic)
        with_database do |database|
          database.transaction do
            database.rows("UPDATE godwit_topics SET retain = ?, retain_bytes = ? WHERE name = ?",
              topic.retain, topic.retain_bytes, topic.name)
            found = load_topics(database).fetch(topic.name)
            (found.partitions...(topic.partitions || 0)).each do |number|
              grow(database, found, number)
            end
          end
          load_topics(database)
        end
        @topics[topic.name]
      end

      # (see Contract)
      def append(batches)
        current
        @queue.submit(batches).tap { wake_members(batches) }
      end

      # @return [WakeUp] of this process
      def listen = WakeUp.new("#{@path}.members")

      # @return [Hash{Integer => String}] the places of the members whose processes have ended
      def dead_members = members.reject { |_, place| WakeUp.alive?(place) }

      # Wakes the processes of all members.
      # @param batches [Array<Array>] that were written; none: they look at all partitions
      def wake_members(batches = [])
        now = Timeout.now
        if now > @places_until
          @targets.update(members.values.uniq)
          @places_until = now + PLACES
        end
        @targets.wake(batches.map { |topic, partition| topic.ids[partition] })
        nil
      end

      # (see Contract)
      def read(topic, partition, offset, bytes)
        least, largest = range(topic, partition)
        left = bytes
        with_database do |database|
          database.rows(READ, least, largest, least + offset) do |row|
            (left -= row[2].bytesize) > 0
          end
        end.map { |id, time, block| [id - least, time, block] }
      end

      # (see Contract)
      def bounds(topic, partition)
        least, largest = range(topic, partition)
        with_database do |database|
          [FIRST, LAST].map { |sql| (database.value(sql, least, largest) || least) - least }
        end
      end

      # (see Contract)
      def offset_at(topic, partition, time)
        least, largest = range(topic, partition)
        with_database do |database|
          id = database.value(AT_TIME, least, largest, time) ||
            database.value(LAST, least, largest) || least
          id - least
        end
      end

      # (see Contract)
      def version
        with_database { |database| [database.value("PRAGMA data_version"), @commits] }
      end

      # @return [Integer] milliseconds since 1970
      def now = @clock.call

      # @return [nil]
      def close
        return if @closed
        current
        @lock.synchronize do
          [@database, @checkpointer].each { |one| one&.close }
          @closed = true
        end
        nil
      end

      # @return [Boolean]
      def closed? = @closed

      # @return [String]
      def inspect = "#<#{self.class} #{@path}#{" (closed)" if closed?}>"

      private

      def open
        @lock = Mutex.new
        @queue = CommitQueue.new { |batches| write(batches) }
        @topics = {}
        @written = @commits = 0
        @places_until = @topics_until = 0
        @targets = WakeUp::Targets.new
        @checkpointer = nil
        @closed = false
        @database = connect
        Schema.prepare(@database, @path)
        @forks = ForkDetector::COUNT[0]
      rescue
        @database&.close
        raise
      end

      def connect = Database.new(@path, @durability)

      # A forked child must not use its parent's connections and locks.
      def current
        reopen if @forks != ForkDetector::COUNT[0] && !@closed
        raise ClosedError, "#{@path} was closed: connect again" if @closed
        return unless @lock.owned?
        raise Godwit::Errors.of(StateError, :transaction, "a handler's transaction holds the " \
          "log: use its db, and the handler's own produce")
      end

      # One of the child's threads opens the file.
      def reopen
        @opening.synchronize { open if @forks != ForkDetector::COUNT[0] }
      end

      def with_database
        current
        Thread.handle_interrupt(NEVER) do
          @lock.synchronize { yield @database }
        end
      end

      def range(topic, partition)
        least = topic.ids.fetch(partition) << OFFSET_BITS
        [least, least + LARGEST]
      end

      # Also for a handler's transaction, which holds the log.
      def all_topics
        return load_topics(@database) if @lock.owned?
        with_database { |database| load_topics(database) }
      end

      # @return [Hash{String => Topic}]
      def load_topics(database)
        @topics_until = Timeout.now + KNOWN
        @topics = database.rows(TOPICS).to_h do |name, format, partitioner, retain, bytes, ids|
          ids = ids.split(",").map(&:to_i).sort
          [name, Topic.new(name: name, partitions: ids.size, format: format,
            partitioner: partitioner.to_sym, retain: retain, retain_bytes: bytes,
            ids: ids).freeze]
        end
      end

      def insert_topic(database, topic)
        id = database.value("INSERT INTO godwit_topics (name, format, partitioner, retain, " \
          "retain_bytes) VALUES (?, ?, ?, ?, ?) RETURNING id", topic.name, topic.format,
          topic.partitioner.to_s, topic.retain, topic.retain_bytes)
        topic.partitions.times do |number|
          database.rows("INSERT INTO godwit_partitions (topic, number) VALUES (?, ?)", id, number)
        end
      end

      def grow(database, topic, number)
        id = database.value("INSERT INTO godwit_partitions (topic, number) SELECT topic, ? FROM " \
          "godwit_partitions WHERE id = ? RETURNING id", number, topic.ids.first)
        database.rows("INSERT INTO godwit_positions (group_id, partition, watermark) SELECT " \
          "group_id, ?, 0 FROM godwit_positions WHERE partition = ?", id, topic.ids.first)
      end

      # One statement alone is a transaction by itself.
      # @return [Array<Array(Integer, Integer)>] of each batch: its first offset, its time
      def write(batches)
        with_database do |database|
          result = nil
          if batches.size == 1
            result = insert_blocks(database, batches)
          else
            database.transaction { result = insert_blocks(database, batches) }
          end
          @commits += 1
          checkpoint(batches.sum { |batch| batch[2].bytesize })
          result
        end
      end

      def insert_blocks(database, batches)
        time = now
        batches.map do |topic, partition, block, count|
          least = topic.ids.fetch(partition) << OFFSET_BITS
          [database.insert(APPEND, least, least + LARGEST, count, time, block) - least, time]
        end
      end

      # Copies the WAL into the file, also for processes that write seldom.
      def checkpoint_now
        with_database { |_| checkpoint(CHECKPOINT) }
      end

      # The commit is done: a checkpoint that fails is tried again later.
      def checkpoint(bytes)
        return if (@written += bytes + COMMIT) < CHECKPOINT
        @checkpointer ||= connect
        @database.checkpoint(@checkpointer)
        @written = 0
      rescue Error
        nil
      end
    end
    Contract.check(SqliteEngine)
  end
end
