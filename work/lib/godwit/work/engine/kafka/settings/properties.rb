# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The properties of librdkafka that Work sets, and whether a user may change them.
      # @private
      module Properties
        # A property that Work sets.
        # @!attribute value
        #   @return [String, Integer, Boolean, Symbol, nil] a Symbol names a method of {Values};
        #     nil: Work leaves librdkafka's default, but a user may not change it
        # @!attribute kinds
        #   @return [Array<Symbol>] the kinds of the handles that get the property
        # @!attribute change
        #   @return [Boolean] whether a user's value replaces `value`
        # @!attribute instead
        #   @return [String, nil] what a user does instead of changing the property
        # @!attribute reason
        #   @return [String] why Work sets the property, as a sentence
        Property = Struct.new(:name, :value, :kinds, :change, :instead, :reason) do
          def changeable? = change
        end

        PRODUCERS = %i[producer transactional].freeze
        CONSUMERS = %i[consumer reader].freeze
        KINDS = [*PRODUCERS, *CONSUMERS].freeze

        # Aliases that librdkafka accepts, each with the name that Work uses.
        ALIASES = {
          "metadata.broker.list" => "bootstrap.servers", "sasl.mechanism" => "sasl.mechanisms",
          "request.required.acks" => "acks", "delivery.timeout.ms" => "message.timeout.ms",
          "queue.buffering.max.ms" => "linger.ms", "auto.commit.enable" => "enable.auto.commit"
        }.freeze

        # Properties of producers alone, and of consumers alone: librdkafka warns when a handle gets
        # a property of the other type. For a property in TABLE, `kinds` names the handles.
        ONLY_PRODUCERS = %w[
          batch.num.messages batch.size compression.codec compression.level compression.type
          enable.gapless.guarantee message.send.max.retries msg_order_cmp produce.offset.report
          queue.buffering.backpressure.threshold queue.buffering.max.kbytes
          queue.buffering.max.messages queuing.strategy request.timeout.ms retries
          sticky.partitioning.linger.ms
        ].freeze
        ONLY_CONSUMERS = %w[
          auto.commit.interval.ms check.crcs consume.callback.max.messages
          coordinator.query.interval.ms fetch.error.backoff.ms fetch.max.bytes
          fetch.message.max.bytes fetch.min.bytes group.protocol.type
          group.remote.assignor max.partition.fetch.bytes max.poll.records offset.store.method
          offset.store.path offset.store.sync.interval.ms share.acknowledgement.mode
        ].freeze

        # Names of properties whose values no message and no `inspect` shows.
        SECRET = /password|passphrase|secret|[._]key\z|\.key\.|\.pem\z|oauthbearer\.config/

        @rows = []

        class << self
          def [](name) = BY_NAME[ALIASES.fetch(name, name)]

          # @return [Boolean] whether a handle of this kind gets the property; true for a name that
          #   is in none of the tables
          def for?(kind, name)
            row = self[name]
            return row.kinds.include?(kind) if row
            !(PRODUCERS.include?(kind) ? ONLY_CONSUMERS : ONLY_PRODUCERS).include?(name)
          end

          def secret?(name) = name.match?(SECRET)

          private

          def fixed(name, value, kinds, instead, reason)
            @rows << Property.new(name, value, kinds, false, instead, reason).freeze
          end

          def default(name, value, kinds, reason)
            @rows << Property.new(name, value, kinds, true, nil, reason).freeze
          end
        end

        # The properties of the brokers and of this client.
        fixed "bootstrap.servers", :brokers, KINDS, "name the brokers in the URL",
          "The URL names the brokers."
        fixed "security.protocol", :protocol, KINDS,
          "write kafka+ssl:// for TLS, and USER:SECRET@ for SASL",
          "The URL says whether TLS and SASL are used."
        fixed "sasl.mechanisms", :mechanism, KINDS, "use the keyword `sasl:`",
          "The keyword `sasl:` names the mechanism."
        fixed "sasl.username", :user, KINDS, "write it in the URL: USER:SECRET@HOST",
          "The URL has the user."
        fixed "sasl.password", :secret, KINDS, "write it in the URL: USER:SECRET@HOST",
          "The URL has the secret, which no error shows."
        fixed "client.id", :client, KINDS, "Work names the process, its member and the topic",
          "The brokers' logs and `godwit-work doctor` name the process of a member."

        # The properties of connections.
        default "socket.connection.setup.timeout.ms", 5_000, KINDS,
          "A host or a TLS handshake that does not answer is an error before 10 s have passed."
        default "reconnect.backoff.ms", 50, KINDS,
          "A broker that restarts is found soon."
        default "reconnect.backoff.max.ms", 1_000, KINDS,
          "A broker that was away is found within a second of its return."
        fixed "socket.timeout.ms", :socket_timeout, KINDS, "it is 10 s",
          "A broker that hangs is left after 10 s, or a shorter `transaction.timeout.ms`."
        default "topic.metadata.refresh.interval.ms", 5_000, KINDS,
          "New topics and partitions are seen within 5 s, and not after 5 minutes."
        default "topic.metadata.propagation.max.ms", 5_000, KINDS,
          "A topic that does not exist is an error after 5 s, and not after 30 s."
        default "retry.backoff.ms", 5, KINDS,
          "The next transaction waits for the end of the last one: with 100 ms each takes 105 ms."
        default "connections.max.idle.ms", :idle, KINDS,
          "A closed connection lets librdkafka go on with its search for a group's coordinator."
        fixed "allow.auto.create.topics", false, KINDS, "declare the topic",
          "Work creates topics, with their partitions and settings; a misspelt name is an error."
        fixed "message.max.bytes", (1 << 20) + (128 << 10), KINDS, "a value has at most 1 MiB",
          "A record may have 1 MiB of value, and 64 KiB of key and headers, and Kafka's overhead."
        fixed "enabled_events", nil, KINDS, "use `Godwit::Work.on`",
          "Work reads the events of librdkafka's queues."
        fixed "log.queue", nil, KINDS, "set `debug`, which prints on the standard error",
          "Work does not read such a queue."

        # The properties of producers.
        fixed "enable.idempotence", true, PRODUCERS, "it is always true",
          "A retry neither repeats nor reorders records."
        fixed "acks", "all", PRODUCERS, "it is always all",
          "`produce` returns when all replicas in sync have the record."
        fixed "message.timeout.ms", :message_timeout, PRODUCERS, "use the keyword `timeout:`",
          "`produce` raises after `timeout:` seconds; a transaction demands at most its time-out."
        default "linger.ms", 0, PRODUCERS,
          "A record that is alone is sent at once; records of one call are one batch anyway."
        fixed "delivery.report.only.error", nil, PRODUCERS, "it is always false",
          "`produce` waits for the report of each record."
        fixed "partitioner", nil, PRODUCERS, "use the topic's `partitioner:`",
          "Work chooses the partition, the same one on each engine."
        fixed "transactional.id", :id, %i[transactional], "Work makes one for each producer",
          "A producer that replaces another one with this id fences it."
        default "transaction.timeout.ms", 10_000, %i[transactional],
          "Readers and the next owner wait so long for a transaction whose process died."

        # The properties of consumers.
        fixed "group.id", :group, CONSUMERS, "use the consumer's `group`",
          "The consumer names its group; a reader is in none, but librdkafka wants a name."
        fixed "isolation.level", "read_committed", CONSUMERS, "it is always read_committed",
          "Outputs of a transaction that was aborted are not read."
        fixed "auto.offset.reset", "error", CONSUMERS, "use the consumer's `start_from`",
          "When records are gone, the event `skipped` says so; Work goes on at the log's start."
        fixed "enable.auto.commit", false, CONSUMERS, "Work commits after the handler",
          "Only records whose handler has ended are committed."
        fixed "enable.auto.offset.store", false, CONSUMERS, "Work commits after the handler",
          "Work names the offset of each commit."
        fixed "enable.partition.eof", true, %i[reader], "use `lag`",
          "A reader without a group ends at the end of a partition."
        default "fetch.wait.max.ms", :fetch_wait, CONSUMERS,
          "10 ms for a reader without a group: at the end of a partition it hears of it soon."
        fixed "partition.assignment.strategy", "cooperative-sticky", CONSUMERS,
          "it is always cooperative-sticky", "A rebalance stops only the partitions that move."
        fixed "group.protocol", nil, CONSUMERS, "use the keyword group_protocol:",
          "The keyword leaves out what the brokers decide in the protocol of KIP-848."
        fixed "group.instance.id", :instance, %i[consumer], "use the keyword instance:",
          "The keyword and the topic, since a process may have members for several topics."
        default "session.timeout.ms", 10_000, CONSUMERS,
          "Another member has the partitions of a process that died after 10 s."
        fixed "heartbeat.interval.ms", :heartbeat, CONSUMERS, "change `session.timeout.ms`",
          "A member hears of a rebalance within a second, or a third of a shorter session."
        default "max.poll.interval.ms", 86_400_000, CONSUMERS,
          "A handler may run for a day before its member loses a partition that is revoked."
        default "fetch.queue.backoff.ms", 2, CONSUMERS,
          "With 1,000 ms fetching stops for a second whenever a queue was full."
        default "queued.max.messages.kbytes", :queued_kbytes, CONSUMERS,
          "64 MiB for all partitions of a consumer; 1 to 16 MiB for each."
        default "queued.min.messages", 20_000, CONSUMERS,
          "Small records take up to 400 bytes each in librdkafka: 100,000 take 30 MiB more."

        TABLE = @rows.freeze
        BY_NAME = TABLE.to_h { |row| [row.name, row] }.freeze
      end
    end
  end
end
