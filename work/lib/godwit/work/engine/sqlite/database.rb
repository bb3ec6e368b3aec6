# frozen_string_literal: true

require "sqlite3"

module Godwit
  module Work
    # A connection to an SQLite file, with the settings of a log, prepared statements, and errors
    # that name the fix. One thread at a time uses a Database.
    # @private
    class Database
      MEMORY = ":memory:"
      FULL = "the disk is full: free some space, then try again"
      BUSY = 5_000 # milliseconds to wait for another process's transaction
      SYNCHRONOUS = {process: "NORMAL", power: "FULL"}.freeze
      # In a forked child the sqlite3 gem closes inherited connections, and warns. The engine needs
      # no warning, since it opens a new connection in the child.
      SQLite3::ForkSafety.suppress_warnings!

      # The class and the fix of each error that SQLite raises.
      ERRORS = {
        SQLite3::BusyException => [LockedError, "another process wrote for more than " \
          "#{BUSY / 1000} s: end it, or make its transactions shorter"],
        SQLite3::LockedException =>
          [LockedError, "another connection of this process holds a lock"],
        SQLite3::FullException => [FullError, FULL],
        SQLite3::CorruptException =>
          [CorruptError, "the file is damaged: restore it from a backup"],
        SQLite3::NotADatabaseException =>
          [CorruptError, "this is no SQLite file: name another, or move it away"],
        SQLite3::CantOpenException =>
          [AccessError, "cannot open it: create its folder, and let this user write there"],
        SQLite3::ReadOnlyException =>
          [AccessError, "it is read-only: let this user write the file and its folder"],
        SQLite3::PermissionException => [AccessError, "let this user write the file"],
        SQLite3::SQLException => [DatabaseError, "mend the statement, or create what it names; " \
          "if the file lacks a table of godwit, restore it from a backup"],
        SQLite3::IOException => [DatabaseError, "reading or writing failed: look at the disk"]
      }.freeze

      # @param durability [Symbol] :process or :power, see {SqliteFile}
      def initialize(path, durability)
        @path = path
        @statements = {}
        translated do
          @database = SQLite3::Database.new(path)
          @database.busy_handler_timeout = BUSY
          configure(SYNCHRONOUS.fetch(durability))
        end
      end

      # @yieldreturn [Boolean] whether to read the next row; without a block, all rows are read
      # @return [Array<Array>] rows
      def rows(sql, *values, &more) = translated { run(sql, values, &more) }

      # Runs a user's statement, in which each parameter needs a value. The statement is not cached:
      # if a program writes values into its SQL, each call would add a statement to the cache.
      # @return [Array<Array>] rows
      def checked_rows(sql, *values)
        translated do
          statement = @database.prepare(sql)
          check(sql, statement, values)
          steps(statement, values)
        ensure
          statement.close if statement && !statement.closed?
        end
      end

      # @return [Integer] the rowid of the new row
      def insert(sql, *values)
        translated { run(sql, values) }
        @database.last_insert_row_id
      end

      # @return [Object, nil] the first value of the first row
      def value(sql, *values) = rows(sql, *values).first&.first

      # @return [Integer] a number that changes when another connection commits
      def data_version = value("PRAGMA data_version")

      # @return [Integer] how many rows this connection has written
      def changes = @database.total_changes

      # Runs the block in a transaction that gets the write lock at its beginning: so no statement
      # fails because another connection wrote meanwhile.
      # @return [Object] the block's value
      def transaction
        rows("BEGIN IMMEDIATE")
        result = yield
        rows("COMMIT")
        done = true
        result
      ensure
        roll_back unless done
      end

      def transaction? = @database.transaction_active?

      # Copies committed pages from the WAL into the file. BEGIN IMMEDIATE prevents other commits:
      # before SQLite 3.51.3 a commit during a checkpoint may damage the file.
      # @param other [Database] another connection to this file
      def checkpoint(other)
        rows("BEGIN IMMEDIATE")
        other.rows("PRAGMA wal_checkpoint(PASSIVE)")
      ensure
        roll_back
      end

      def close
        @statements.each_value(&:close)
        @statements.clear
        @database.close
        nil
      end

      private

      def configure(synchronous)
        wal
        pragma("synchronous=#{synchronous}")
        pragma("wal_autocheckpoint=0") # `checkpoint` copies the WAL instead
        pragma("secure_delete=OFF")
        pragma("mmap_size=0")
        pragma("temp_store=MEMORY")
      end

      # Turns the WAL on. If two processes create a file at once, SQLite raises in the second one
      # without a wait, so this method retries.
      def wal
        deadline = Timeout.now + BUSY / 1000.0
        begin
          pragma("journal_mode=WAL")
        rescue SQLite3::BusyException
          raise if Timeout.now > deadline
          sleep 0.005
          retry
        end
      end

      def pragma(text) = @database.execute("PRAGMA #{text}")

      # Runs a statement, and resets it at once: SQLite cannot reuse the WAL while a statement is
      # unfinished.
      def run(sql, values, &more)
        statement = @statements[sql] ||= @database.prepare(sql)
        steps(statement, values, &more)
      ensure
        statement&.reset!
      end

      def steps(statement, values)
        index = 0
        values.each { |value| statement.bind_param(index += 1, value) }
        rows = []
        while (row = statement.step)
          rows << row
          break if block_given? && !yield(row)
        end
        rows
      end

      # @raise [DatabaseError] unless the SQL is one statement, with a value for each parameter
      def check(sql, statement, values)
        if statement.closed? || statement.remainder.match?(/[^\s;]/)
          raise DatabaseError, "#{sql}: execute takes one statement: call it for each one"
        end
        wanted = statement.bind_parameter_count
        return if wanted == values.size
        raise DatabaseError, "#{sql}: it has #{wanted} parameters, and got #{values.size} values"
      end

      def roll_back
        rows("ROLLBACK") if @database && !@database.closed? && transaction?
      end

      def translated
        yield
      rescue SQLite3::Exception => error
        klass, fix = ERRORS.find { |kind, _| error.is_a?(kind) }&.last || DatabaseError
        text = (error.message.lines.map(&:strip) - ["^"]).join(" ")
        raise klass, "#{@path}: #{[text, *fix].join(": ")}", cause: error
      end
    end
  end
end
