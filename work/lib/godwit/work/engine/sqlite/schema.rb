# frozen_string_literal: true

require "sqlite3"

module Godwit
  module Work
    # The tables of a log. Their names begin with `godwit_`, since an application may have the log
    # in its own file.
    # @private
    module Schema
      VERSION = 1
      TABLES = [
        "CREATE TABLE godwit_meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        "CREATE TABLE godwit_topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, " \
          "format TEXT NOT NULL, partitioner TEXT NOT NULL, retain REAL, " \
          "retain_bytes INTEGER)",
        # `bytes` is the size of the partition's blocks whose id is at most `counted`.
        "CREATE TABLE godwit_partitions (id INTEGER PRIMARY KEY, topic INTEGER NOT NULL, " \
          "number INTEGER NOT NULL, counted INTEGER NOT NULL DEFAULT 0, " \
          "bytes INTEGER NOT NULL DEFAULT 0, UNIQUE (topic, number))",
        # `id` has the partition's id in its high bits, and the first record's offset in the low.
        "CREATE TABLE godwit_blocks (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, " \
          "time INTEGER NOT NULL, bytes BLOB NOT NULL)",
        "CREATE TABLE godwit_groups (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, " \
          "seen INTEGER NOT NULL DEFAULT 0)",
        # `place` is the name of the FIFO of the member's process, `report` JSON about its stuck
        # handlers.
        "CREATE TABLE godwit_members (id INTEGER PRIMARY KEY AUTOINCREMENT, " \
          "group_id INTEGER NOT NULL, topic INTEGER NOT NULL, place TEXT NOT NULL, " \
          "report TEXT)",
        # `crashes`: how many processes ended without a release at the watermark `crashed_at`.
        # `noted`: the offset of the record that runs alone because of these crashes.
        "CREATE TABLE godwit_positions (group_id INTEGER NOT NULL, partition INTEGER NOT NULL, " \
          "watermark INTEGER NOT NULL, state BLOB, member INTEGER, " \
          "generation INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0, " \
          "crashed_at INTEGER, noted INTEGER, paused INTEGER NOT NULL DEFAULT 0, " \
          "PRIMARY KEY (group_id, partition)) WITHOUT ROWID",
        "INSERT INTO godwit_meta VALUES ('schema', #{VERSION})"
      ].freeze
      META = "SELECT 1 FROM sqlite_master WHERE name = 'godwit_meta'"

      module_function

      # @param path [String] of a file, which this method does not change
      # @return [Boolean] whether the file has the tables, or cannot be read
      def in?(path)
        return false unless File.exist?(path)
        database = SQLite3::Database.new(path, readonly: true)
        database.execute(META).any?
      rescue SQLite3::Exception
        true # the engine will report the file's fault
      ensure
        database&.close
      end

      # Creates the tables if there are none. If two processes start at once, one creates them.
      # @raise [CorruptError] for tables of another version
      def prepare(database, path)
        database.transaction { create(database) } unless version(database)
        found = version(database)
        return if found == VERSION
        fix = (found.to_i > VERSION) ? "update godwit-work" : "use an older godwit-work"
        raise CorruptError, "#{path}: its tables have version #{found}, this godwit-work knows " \
          "#{VERSION}: #{fix}"
      end

      # @return [Object, nil] the version of the tables; nil: there are no tables
      def version(database)
        return unless database.value(META)
        database.value("SELECT value FROM godwit_meta WHERE name = 'schema'") || 0
      end

      def create(database)
        TABLES.each { |sql| database.rows(sql) } unless version(database)
      end
      private_class_method :version, :create
    end
  end
end
