# frozen_string_literal: true

require "godwit"

module Godwit
  # Consumers with retries on one SQLite file, without a server.
  #
  #   require "godwit/work"
  #   Godwit::Work.connect "sqlite:work.db"
  #   Godwit::Work.topic "payments"
  #   Godwit::Work.produce "payments", {id: 1}, key: "42"
  #   Godwit::Work.each("payments") { |message| p message.value }
  #
  # **Threads**: any number may use it. **Fork**: a child may go on using it.
  module Work
    # Of both gems.
    VERSION = Godwit::VERSION

    autoload :Administration, "godwit/work/administration"
    autoload :Assignment, "godwit/work/assignment"
    autoload :Batch, "godwit/work/batch"
    autoload :Block, "godwit/work/block"
    autoload :Blocks, "godwit/work/blocks"
    autoload :Client, "godwit/work/client"
    autoload :CommitQueue, "godwit/work/engine/commit_queue"
    autoload :Committer, "godwit/work/committer"
    autoload :Coordination, "godwit/work/coordination"
    autoload :Consumer, "godwit/work/consumer"
    autoload :Contract, "godwit/work/engine/contract"
    autoload :Daemon, "godwit/work/engine/daemon"
    autoload :Database, "godwit/work/engine/database"
    autoload :DeadLetter, "godwit/work/dead_letter"
    autoload :Declaration, "godwit/work/declaration"
    autoload :Doctor, "godwit/work/doctor"
    autoload :Events, "godwit/work/events"
    autoload :Format, "godwit/work/format"
    autoload :Groups, "godwit/work/engine/groups"
    autoload :Handler, "godwit/work/handler"
    autoload :Hooks, "godwit/work/hooks"
    autoload :Kafka, "godwit/work/engine/kafka"
    autoload :Lanes, "godwit/work/lanes"
    autoload :MemoryEngine, "godwit/work/engine/memory"
    autoload :Message, "godwit/work/message"
    autoload :Operations, "godwit/work/engine/operations"
    autoload :Ownership, "godwit/work/ownership"
    autoload :Partitioner, "godwit/work/partitioner"
    autoload :Progress, "godwit/work/progress"
    autoload :Receipt, "godwit/work/message"
    autoload :Records, "godwit/work/engine/records"
    autoload :Retention, "godwit/work/engine/retention"
    autoload :Runner, "godwit/work/runner"
    autoload :Schema, "godwit/work/engine/schema"
    autoload :Source, "godwit/work/message"
    autoload :SilentProcesses, "godwit/work/silent_processes"
    autoload :SqliteEngine, "godwit/work/engine/sqlite"
    autoload :StoredBlock, "godwit/work/engine/stored_block"
    autoload :StuckHandlers, "godwit/work/stuck_handlers"
    autoload :Testing, "godwit/work/testing"
    autoload :Topic, "godwit/work/topic"
    autoload :Topics, "godwit/work/topics"
    autoload :WakeUp, "godwit/work/engine/wake_up"
    private_constant :Assignment, :Block, :Blocks, :CommitQueue, :Committer, :Contract,
      :Coordination, :Daemon, :Database, :DeadLetter, :Declaration, :Doctor, :Format, :Groups,
      :Handler, :Hooks, :Kafka, :Lanes, :MemoryEngine, :Operations, :Ownership, :Partitioner,
      :Progress, :Records, :Retention, :Schema, :SilentProcesses, :Source, :SqliteEngine,
      :StoredBlock, :StuckHandlers, :Topics, :WakeUp

    # Ruby uses a frozen mask that compares by identity without a copy.
    NEVER = {Object => :never}.compare_by_identity.freeze
    private_constant :NEVER

    HOW = "write Godwit::Work.connect \"sqlite:work.db\", or type export " \
      "GODWIT_WORK_URL=sqlite:work.db"
    CREATE = "look at GODWIT_WORK_URL, or create the log with `godwit-work run` or " \
      "Godwit::Work.connect"
    private_constant :HOW, :CREATE

    @lock = Mutex.new
    @events = Events.new

    class << self
      # Opens the log that all calls use from then on.
      # @param url [String, nil] "sqlite:PATH"; "sqlite::memory:" is of this process alone; nil: the
      #   environment's GODWIT_WORK_URL
      # @param durability [Symbol] :process: records survive the end of the process, as by kill -9;
      #   :power: an fsync for each commit, so that they survive a power cut, too
      # @param create [Boolean] whether to create the log in a file that has none
      # @return [Client]
      # @raise [ArgumentValueError] for another URL
      # @raise [StateError] when there is no URL
      # @raise [AccessError] when there is no log, with `create: false`
      # @raise [AccessError, CorruptError, LockedError]
      def connect(url = ENV["GODWIT_WORK_URL"], durability: :process, create: true)
        client = make(url, durability, create)
        @lock.synchronize do
          @client&.close
          @client = client
        end
      end

      # @return [Client] of {connect}; without it, of the environment's GODWIT_WORK_URL
      # @raise [StateError] when there is neither
      def client
        @client || Timers.locked(@lock, :log) do
          @client ||= make(ENV["GODWIT_WORK_URL"], :process, true)
        end
      end

      # Declares a topic: see {Client#topic}.
      # @param name [String]
      # @param settings [Hash] `partitions:`, `format:`, `partitioner:`, `retain:`
      # @return [Topic]
      # @raise (see Client#topic)
      def topic(name, **settings) = client.topic(name, **settings)

      # Writes a record, and waits until it is safe: see {Client#produce}.
      # @param topic [String] name of a topic that exists
      # @param value [Object, nil] as the topic's format takes it
      # @param options [Hash] `key:`, `headers:`
      # @return [Receipt]
      # @raise (see Client#produce)
      def produce(topic, *value, **options) = client.produce(topic, *value, **options)

      # (see Client#produce_many)
      def produce_many(topic, records) = client.produce_many(topic, records)

      # Calls a listener when something happens in this process: see {Events#on}. It stays through
      # {connect}, which may come later.
      # @param names [Array<Symbol>] of {Events::NAMES}; none: all
      # @yieldparam event [Events::Event]
      # @return [nil]
      # @raise [ArgumentValueError]
      def on(*names, &listener) = @events.on(*names, &listener)

      # Reads records without a group: see {Client#each}.
      # @param topic [String] name of a topic that exists
      # @param options [Hash] `from:`, `live:`
      # @yieldparam message [Message]
      # @return [nil, Enumerator]
      # @raise (see Client#each)
      def each(topic, **options, &block) = client.each(topic, **options, &block)

      private

      def make(url, *settings) = Client.new(engine(url.to_s, *settings), @events)

      # Other processes have other working directories.
      def expand(path, url)
        File.expand_path(path)
      rescue ::ArgumentError # ~name of no user, or ~ without HOME
        raise Godwit::Errors.bad_value(:connect, "url", "\"sqlite:PATH\": #{HOW}", url)
      end

      def engine(url, durability, create)
        unless %i[process power].include?(durability)
          raise Godwit::Errors.bad_value(:connect, "durability:", ":process or :power", durability)
        end
        raise Godwit::Errors.of(StateError, :connect, "which log? #{HOW}") if url.empty?
        path = url.b[/\Asqlite:([^\0]+)\z/n, 1]&.force_encoding(url.encoding)
        raise Godwit::Errors.bad_value(:connect, "url", "\"sqlite:PATH\": #{HOW}", url) unless path
        path = expand(path, url) unless path == Database::MEMORY
        raise AccessError, "no log in #{path}: #{CREATE}" unless create || Schema.in?(path)
        return MemoryEngine.new(clock: nil) if path == Database::MEMORY
        SqliteEngine.new(path, durability: durability)
      end
    end
  end
end

require_relative "work/errors"
