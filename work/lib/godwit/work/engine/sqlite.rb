# frozen_string_literal: true

require "godwit/fork_detector"

module Godwit
  module Work
    # The log in one SQLite file, which many processes share. Each process has two connections: one
    # for everything, one for checkpoints. A forked child opens its own.
    # @private
    class SqliteEngine
      include Groups
      include Operations
      include Records
      include Retention

      # Bytes that this process writes between two checkpoints, about.
      CHECKPOINT = 4 << 20
      COMMIT = 8 << 10 # bytes of a commit beside its blocks: a page or two
      private_constant :CHECKPOINT, :COMMIT

      TOPICS = <<~SQL
        SELECT name, format, partitioner, retain, retain_bytes, group_concat(p.id)
        FROM godwit_topics t JOIN godwit_partitions p ON p.topic = t.id GROUP BY t.id ORDER BY name
      SQL
      FIFOS = "SELECT DISTINCT place FROM godwit_members"
      LACKS = %i[copy].freeze
      private_constant :TOPICS, :FIFOS, :LACKS

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
        Daemon::ENGINES[self] = self unless path == Database::MEMORY
      end

      # (see Contract)
      def topics
        return load_topics(@database) if @lock.owned? # by a handler's transaction
        with_database { |database| load_topics(database) }
      end

      # (see Contract)
      # New partitions begin unread for each group: nothing in them is missed.
      def save_topic(topic)
        saved = transaction do |database|
          found = load_topics(database)[topic.name]
          if topic.ids
            alter_topic(database, found, topic)
          elsif found.nil?
            insert_topic(database, topic)
          end
          load_topics(database)[topic.name]
        end
        wake_members if topic.ids
        saved
      end

      # @return [WakeUp] of this process
      def listen = WakeUp.new(folder).tap { |one| @places += [File.basename(one.place)] }

      # (see Contract)
      def lacks = LACKS

      # (see Contract)
      def restore(_positions) = Contract.need(self, :copy)

      # (see Contract)
      def commit_every = 0

      # (see Contract)
      def version
        with_database { |database| [database.data_version, @commits] }
      end

      # @return [Integer] milliseconds since 1970
      def now = @clock.call

      # @return [nil]
      def close
        return if @closed
        current
        @lock.synchronize do
          close_file
          @closed = true
        end
        nil
      end

      # Has no connection while the block runs. A process that the block forks opens its own.
      # @return [Object] the block's value
      def without_file
        return yield if @closed || @forks != ForkDetector::COUNT[0]
        with_database do
          close_file
          yield
        ensure
          @database = connect if @forks == ForkDetector::COUNT[0] # the fork has failed
        end
      end

      # @return [Boolean]
      def closed? = @closed

      # @return [String]
      def inspect = "#<#{self.class} #{@path}#{" (closed)" if closed?}>"

      private

      def open
        @lock = Mutex.new
        @queue = CommitQueue.new { |batches| write(batches) }
        @written = @commits = @places_until = @ended_until = 0
        @places = [] # names of the FIFOs of this process
        @ended = {}
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

      def close_file
        [@database, @checkpointer].each { |one| one&.close }
        @checkpointer = nil
      end

      # A forked child must not use its parent's connections and locks.
      def current
        reopen if @forks != ForkDetector::COUNT[0] && !@closed
        raise ClosedError, "#{@path} was closed: connect again" if @closed
        return unless @lock.owned?
        Timers.locked(Mutex.new, :log) { nil } # a trap block may come while the thread has it
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
          Timers.locked(@lock, :log) { yield @database }
        end
      end

      # Wakes the processes of all members.
      # @param batches [Array<Array>] that were written; none: they look at all partitions
      def wake_members(batches = [])
        now = Timeout.now
        if now > @places_until
          names = with_database { |database| database.rows(FIFOS).flatten }
          @targets.update(names.map { |name| place(name) })
          @places_until = now + PLACES
        end
        return if @targets.empty?
        @targets.wake(batches.map { |topic, partition| topic.ids[partition] })
        nil
      end

      # Other processes may have the file at another path, as containers with one volume do.
      # @param name [String] of a FIFO
      # @return [String] its path here
      def place(name) = File.join(folder, name)
      def folder = "#{@path}.members"

      # @return [Object] the same for all members of a process
      def process_of(_member, place) = place

      # @return [Boolean] whether the process of a member lives
      def alive?(_member, place) = WakeUp.alive?(place)

      # @return [Float] seconds since the process of a member has reported
      def silent_for(_member, place) = WakeUp.silent(place)

      # @return [Hash{String => Topic}]
      def load_topics(database)
        database.rows(TOPICS).to_h do |name, format, partitioner, retain, bytes, ids|
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

      def alter_topic(database, found, topic)
        database.rows("UPDATE godwit_topics SET retain = ?, retain_bytes = ? WHERE name = ?",
          topic.retain, topic.retain_bytes, topic.name)
        (found.partitions...topic.partitions).each { |number| grow(database, found, number) }
      end

      def grow(database, topic, number)
        id = database.value("INSERT INTO godwit_partitions (topic, number) SELECT topic, ? FROM " \
          "godwit_partitions WHERE id = ? RETURNING id", number, topic.ids.first)
        database.rows("INSERT INTO godwit_positions (group_id, partition, watermark) SELECT " \
          "group_id, ?, 0 FROM godwit_positions WHERE partition = ?", id, topic.ids.first)
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
