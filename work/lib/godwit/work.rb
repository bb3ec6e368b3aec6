# frozen_string_literal: true

require "godwit"

module Godwit
  # Consumers with retries on one SQLite file, without a server; or on Apache Kafka.
  #
  #   require "godwit/work"
  #   Godwit::Work.connect "sqlite:work.db"
  #   Godwit::Work.topic "payments"
  #   Godwit::Work.produce "payments", {id: 1}, key: "42"
  #   Godwit::Work.each("payments") { |message| p message.value }
  #
  # **Threads**: any number may call these methods. **Fork**: a child may continue to use a log in a
  # file; with Kafka it must {connect} again.
  module Work
    # The version of Work, which is that of the gem godwit.
    VERSION = Godwit::VERSION

    # Loads each constant at its first use, from the file that has its name.
    # @private
    # @param space [Module] that gets the constants
    # @param folder [String] below godwit/work/, with a slash at its end
    # @param names [Array<Symbol>]
    def self.autoload_all(space, folder, names)
      names.each do |name|
        file = name.to_s.gsub(/\B[A-Z]/) { |letter| "_#{letter}" }.downcase
        space.autoload(name, "godwit/work/#{folder}#{file}")
      end
    end

    autoload_all self, "",
      %i[Administration Batch Client Consumer Events Message Runner Testing Topic]
    autoload :Receipt, "godwit/work/message"
    autoload :Source, "godwit/work/message"
    private_constant :Source

    {
      "administration/" => %i[Doctor LogCopy],
      "engine/" => %i[
        Connection Contract Kafka KafkaEngine Listed Member MemoryEngine MemoryProcesses
        PipeWakeUp Position Share SqliteEngine WakeUp
      ],
      "engine/sqlite/" => %i[
        CommitQueue Daemon Database Groups Operations Processes Records Retention Schema
        SqliteFile StoredBlock StoredTopics
      ],
      "records/" => %i[Block Blocks DeadLetter Declaration Format Partitioner Topics],
      "running/" => %i[
        Assignment Committer Coordinator Handler Hooks Lanes Progress SilentProcesses
        StuckHandlers Turns Workers
      ]
    }.each do |folder, names|
      autoload_all self, folder, names
      private_constant(*names)
    end

    # A mask that defers all interrupts, in the form that Thread.handle_interrupt need not copy.
    NEVER = {Object => :never}.compare_by_identity.freeze
    private_constant :NEVER

    @lock = Mutex.new
    @events = Events.new

    class << self
      # Opens the log that the methods of Work use from then on. Waits at most 8 s for the answer of
      # a Kafka cluster.
      # @param url [String, nil] "sqlite:PATH"; "sqlite::memory:", a log that only this process has;
      #   "kafka://HOST:PORT,…", or "kafka+ssl://USER:SECRET@HOST:PORT"; nil: the environment's
      #   GODWIT_WORK_URL
      # @param create [Boolean] whether to create the log in a file that has none
      # @param settings [Hash] of SQLite `durability:`: :process: records survive the end of the
      #   process, as by kill -9; :power: an fsync for each commit, so that they survive a power
      #   cut, too. Of Kafka `sasl:`: "PLAIN", "SCRAM-SHA-256" or "SCRAM-SHA-512"; `timeout:`:
      #   seconds that a call waits for the brokers, 30; `transactions:`: false for clusters that
      #   forbid them, where outputs may repeat; `group_protocol:`: :classic, or :consumer for that
      #   of KIP-848, with brokers and librdkafka that have it; `instance:`: a name of this process,
      #   for static members of groups; `kafka:`: a Hash of librdkafka's properties, but those that
      #   Work sets. For the environment's URL the JSON object in GODWIT_WORK_SETTINGS has such
      #   settings, too; a keyword of the call overrides it
      # @return [Client]
      # @raise [ArgumentValueError] for a URL of another form, or settings that its log lacks
      # @raise [StateError] when there is no URL
      # @raise [AccessError] when there is no log, with `create: false`
      # @raise [AccessError, CorruptError, LockedError] for a file
      # @raise [AccessError, BrokerError] for a cluster, with the cause
      # @raise [LoadError] when there is no librdkafka for a cluster
      def connect(url = ENV["GODWIT_WORK_URL"], create: true, **settings)
        client = make(url, create: create, **settings)
        @lock.synchronize do
          @client&.close
          @client = client
        end
      end

      # @return [Client] that {connect} made; else a new one for the environment's GODWIT_WORK_URL
      # @raise [StateError] without a call of {connect} and without GODWIT_WORK_URL
      def client
        @client || Timers.locked(@lock, :log) do
          @client ||= make(ENV["GODWIT_WORK_URL"])
        end
      end

      # Declares a topic: see {Client#topic}.
      # @param name [String]
      # @param settings [Hash] `partitions:`, `format:`, `partitioner:`, `retain:`, `kafka:`
      # @return [Topic]
      # @raise (see Client#topic)
      def topic(name, **settings) = client.topic(name, **settings)

      # Writes a record, and waits until the log has stored it: see {Client#produce}.
      # @param topic [String] name of a topic that exists
      # @param value [Object, nil] that the topic's format can encode
      # @param options [Hash] `key:`, `headers:`
      # @return [Receipt]
      # @raise (see Client#produce)
      def produce(topic, *value, **options) = client.produce(topic, *value, **options)

      # (see Client#produce_many)
      def produce_many(topic, records) = client.produce_many(topic, records)

      # Calls a listener when something happens in this process: see {Events#on}. A later {connect}
      # does not remove the listener.
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

      def make(url, **settings) = Client.new(Connection.open(url.to_s, **settings), @events)
    end
  end
end

require_relative "work/errors"
