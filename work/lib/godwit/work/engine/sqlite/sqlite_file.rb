# frozen_string_literal: true

require "godwit/fork_detector"

module Godwit
  module Work
    # A process's connections to the file of a log: one for reads and writes, one for checkpoints.
    # A forked child must not use its parent's connections and locks.
    # @private
    class SqliteFile
      # Approximate number of bytes that this process writes between two checkpoints.
      CHECKPOINT = 4 << 20
      COMMIT = 8 << 10 # bytes that a commit adds to the WAL beside its records: two SQLite pages

      # @param path [String] absolute, or Database::MEMORY
      # @param durability [Symbol] :process: records survive the end of the process; :power: an
      #   fsync for each commit, so that they survive a power cut, too
      def initialize(path, durability)
        @path = path
        @durability = durability
        @lock = Mutex.new
        @written = 0
        @closed = false
        @database = connect
        Schema.prepare(@database, @path)
        @forks = ForkDetector::COUNT[0]
        Daemon::FILES.add(self) unless memory?
      rescue
        @database&.close
        raise
      end

      attr_reader :path, :database

      def closed? = @closed

      # @return [Boolean] whether a parent process has opened the connections
      def foreign? = @forks != ForkDetector::COUNT[0] && !@closed

      # @return [Boolean] whether this thread uses the connection now, as in a handler's transaction
      def owned? = @lock.owned?

      def check
        raise ClosedError, "#{@path} was closed: connect again" if @closed
        return unless owned?
        # `locked` raises in a trap block, which must not wait for a lock.
        Timers.locked(Mutex.new, :log) { nil }
        raise Godwit::Errors.of(StateError, :transaction, "a handler's transaction holds the " \
          "log: use its db, and the handler's own produce")
      end

      # @yieldparam database [Database] that no other thread uses
      def use
        check
        Thread.handle_interrupt(NEVER) do
          Timers.locked(@lock, :log) { yield @database }
        end
      end

      def transaction(checkpoint: false)
        use do |database|
          database.transaction { yield database }.tap { checkpoint(0) if checkpoint }
        end
      end

      # Runs the block with the lock. The caller has masked interrupts and called `check`, which
      # raises if this thread has the lock already.
      def exclusive(&block) = @lock.synchronize(&block)

      # Copies the WAL into the file, even if this process has written less than CHECKPOINT bytes.
      def checkpoint_now = use { |_| checkpoint(CHECKPOINT) }

      # Copies the WAL into the file after CHECKPOINT bytes of commits. Errors are ignored.
      # @param bytes [Integer] bytes of the last commit
      def checkpoint(bytes)
        return if memory? || (@written += bytes + COMMIT) < CHECKPOINT
        @checkpointer ||= connect
        @database.checkpoint(@checkpointer)
        @written = 0
      rescue Error
        nil
      end

      def close
        check
        @lock.synchronize do
          close_connections
          @closed = true
        end
        nil
      end

      # Closes the connections while the block runs. A process that the block forks opens new ones.
      # @return [Object] the block's value
      def without_connections
        return yield if @closed || foreign?
        use do
          close_connections
          yield
        ensure
          @database = connect unless foreign? # the parent connects again, also after a failed fork
        end
      end

      def memory? = @path == Database::MEMORY

      private

      def connect = Database.new(@path, @durability)

      def close_connections
        [@database, @checkpointer].each { |one| one&.close }
        @checkpointer = nil
      end
    end
  end
end
