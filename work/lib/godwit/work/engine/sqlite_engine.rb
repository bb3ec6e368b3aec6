# frozen_string_literal: true

require "forwardable"
require "godwit/fork_detector"

module Godwit
  module Work
    # A log in one SQLite file, which many processes share. A forked child opens the file anew.
    # @private
    class SqliteEngine
      extend Forwardable

      LACKS = %i[copy].freeze

      # The objects with which one process uses the log. A forked child makes its own.
      Opened = Struct.new(:file, :processes, :topics, :records, :groups, :operations, :retention)

      # @param path [String] of the file; a missing file is created
      # @param durability [Symbol] see {SqliteFile}
      # @param clock [#call] milliseconds since 1970
      def initialize(path, durability: :process, clock: nil)
        # The path is absolute, since other processes have other working directories.
        @path = (path == Database::MEMORY) ? path : File.expand_path(path)
        @durability = durability
        @clock = clock || -> { Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) }
        @opening = Mutex.new
        @opened = open
      end

      # The methods of {Contract}.
      def_delegators "opened.records", :append, :read, :fetch, :bounds, :version
      def_delegators "opened.processes", :listen
      def_delegators "opened.groups", :join, :rebalance, :commit, :release, :note, :report, :leave,
        :positions
      def_delegators "opened.operations", :members, :storage, :set
      def_delegators "opened.retention", :retain, :held

      def topics = opened.topics.all
      def save_topic(topic) = opened.topics.save(topic)
      def lacks = LACKS
      def restore(_positions) = Contract.need(self, :copy)
      def commit_every = 0
      def close = (opened.file.close unless closed?)

      # @return [Integer] milliseconds since 1970
      def now = @clock.call

      # @return [SqliteFile] this process's connections
      def file = opened.file

      def closed? = @opened.file.closed?
      def inspect = "#<#{self.class} #{@path}#{" (closed)" if closed?}>"

      private

      # In a forked child the first caller opens the file.
      def opened
        return @opened unless @opened.file.foreign?
        @opening.synchronize { @opened.file.foreign? ? reopen : @opened }
      end

      def reopen = @opened = open

      def open
        file = SqliteFile.new(@path, @durability)
        processes = processes(file)
        topics = StoredTopics.new(file, processes)
        records = Records.new(file, processes, -> { now })
        Opened.new(file, processes, topics, records,
          Groups.new(file, processes, topics, records, -> { now }),
          Operations.new(file, processes, topics, records),
          Retention.new(file, topics, records, -> { now }))
      end

      def processes(file) = Processes.new(file)
    end
    Contract.check(SqliteEngine)
  end
end
