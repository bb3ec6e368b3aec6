# frozen_string_literal: true

require "digest"

module Godwit
  module Work
    module Kafka
      # The arguments of `connect`. Computes librdkafka's properties for each kind of handle.
      #
      # **Threads**: any; a Settings is frozen.
      # @private
      class Settings
        MECHANISMS = %w[PLAIN SCRAM-SHA-256 SCRAM-SHA-512].freeze
        TIMEOUTS = 0.001..2_000_000
        PROTOCOLS = %w[classic consumer].freeze
        # In the group protocol of KIP-848 the brokers, not the client, set these properties.
        CLASSIC = %w[
          partition.assignment.strategy session.timeout.ms heartbeat.interval.ms
        ].freeze
        INSTANCE = /\A[\w.-]{1,100}\z/ # only characters that Kafka allows

        attr_reader :url
        # @return [Numeric] seconds that a call waits for the brokers
        attr_reader :timeout

        # @param url [String, Url]
        # @param sasl [String, nil] the mechanism; nil: PLAIN, if the URL has a user and TLS
        # @param timeout [Numeric] seconds that a call waits for the brokers
        # @param group_protocol [Symbol, String] :classic or :consumer
        # @param instance [String, nil] names the process in its groups, also after a restart
        # @param kafka [Hash{String, Symbol => String, Integer, Boolean}] librdkafka's properties
        # @raise [ArgumentValueError] for a wrong argument, or a property that Work sets itself
        # @raise [UnsupportedError] for :consumer with a librdkafka before 2.12.0
        def initialize(url, sasl: nil, timeout: 30, transactions: true, group_protocol: :classic,
          instance: nil, kafka: {})
          @url = url.is_a?(Url) ? url : Url.parse(url)
          @sasl = mechanism(sasl)
          @timeout = seconds(timeout)
          @transactions = transactions ? true : false
          @protocol = protocol(group_protocol)
          @instance = instance(instance)
          @kafka = UserProperties.read(:connect, kafka)
          @kafka.each_key { |name| refuse(name) }
          freeze
        end

        # @return [Boolean] whether outputs and offsets are one transaction
        def transactions? = @transactions

        # @return [Hash{String => String}] frozen; its `inspect` shows no secret
        def producer = properties(:producer)

        # @param id [String] the transactional id
        # @return [Hash{String => String}] properties of a transactional producer
        def transactional(id) = properties(:transactional, id: id)

        # @param partitions [Integer] number of partitions of the consumer's topics
        # @param client [String, nil] the `client.id`, which names the member
        # @param topic [String, nil] added to `instance`: a process has a member for each topic
        # @return [Hash{String => String}] properties of a member of a group
        def consumer(group, partitions, client = nil, topic = nil)
          properties(:consumer, group: group, partitions: partitions, client: client,
            instance: @instance && [@instance, topic].compact.join("."))
        end

        # @return [String, nil] the id of a static member of this topic; nil: members are dynamic
        def static_mark(topic)
          @instance && Digest::SHA256.hexdigest("#{@instance}.#{topic}")[0, 12]
        end

        # @return [Hash{String => String}] properties of a reader, which {Client#each} uses
        # @param wait [Hash] `fetch_wait:`, milliseconds that a broker waits for records
        def reader(**wait) = properties(:reader, **wait)

        # Lets librdkafka check the properties of all kinds of handles. The check needs no broker.
        # @return [Settings] self
        # @raise [ArgumentValueError] with librdkafka's reason
        # @raise [LoadError] when there is no librdkafka
        def check
          [producer, transactional("check"), consumer("check", 1, nil), reader].each do |properties|
            Configuration.destroy(Configuration.make(properties))
          end
          self
        end

        # @return [String] the class and the URL, without the secret
        def inspect = "#<#{self.class} #{url}>"
        alias_method :to_s, :inspect

        private

        def properties(kind, **handle)
          values = Values.new(url, @sasl, timeout, @kafka, **handle)
          own = Properties::TABLE.filter_map do |row|
            next unless row.kinds.include?(kind)
            value = row.value.is_a?(Symbol) ? values.public_send(row.value) : row.value
            [row.name, value] unless value.nil?
          end
          own = own.to_h.transform_values { |one| one.is_a?(String) ? one : one.to_s.freeze }
          all = own.merge(@kafka.select { |name, _| Properties.for?(kind, name) })
          return all.freeze if @protocol == "classic" || kind != :consumer
          {**all.except(*CLASSIC), "group.protocol" => @protocol}.freeze
        end

        def instance(given)
          return given if given.nil? || (given.is_a?(String) && given.match?(INSTANCE))
          raise Godwit::Errors.bad_value(:connect, "instance:", "a name of 1 to 100 letters, " \
            "digits, dots, hyphens and underscores, or nil", given)
        end

        def protocol(given)
          unless PROTOCOLS.include?(given.to_s)
            raise Godwit::Errors.bad_value(:connect, "group_protocol:", ":classic or :consumer",
              given)
          end
          Library.need("2.12.0", "group_protocol: :consumer") if given.to_s == "consumer"
          given.to_s
        end

        def refuse(name)
          if @protocol != "classic" && CLASSIC.include?(name)
            raise Godwit::Errors.of(ArgumentValueError, :connect, "kafka: takes no " \
              "#{name.inspect} with group_protocol: :consumer: it is the brokers' group.consumer.*")
          end
          row = Properties[name]
          return if row.nil? || row.changeable?
          raise Godwit::Errors.of(ArgumentValueError, :connect,
            "kafka: takes no #{name.inspect}, which Work sets itself: #{row.instead}")
        end

        def mechanism(sasl)
          return default_mechanism if sasl.nil?
          known = sasl.respond_to?(:to_str) && MECHANISMS.find { |one| one.casecmp?(sasl.to_str) }
          unless known
            raise Godwit::Errors.bad_value(:connect, "sasl:", "#{MECHANISMS.join(", ")} or nil",
              sasl)
          end
          return known if url.user
          raise Godwit::Errors.of(ArgumentValueError, :connect, "sasl: needs a user and a secret " \
            "in the URL: kafka#{"+ssl" if url.tls?}://USER:SECRET@#{url.brokers}")
        end

        # The mechanism when `sasl:` is nil and the URL has a user. PLAIN does not encrypt the
        # secret, so without TLS the caller must name PLAIN.
        def default_mechanism
          return unless url.user
          return "PLAIN" if url.tls?
          raise Godwit::Errors.of(ArgumentValueError, :connect, "#{url}: a user without TLS needs" \
            " sasl:, \"SCRAM-SHA-512\" for example; \"PLAIN\" sends the secret for all to read")
        end

        def seconds(timeout)
          return timeout if timeout.is_a?(Numeric) && timeout.real? && TIMEOUTS.cover?(timeout)
          raise Godwit::Errors.bad_value(:connect, "timeout:", "seconds, more than 0", timeout)
        end
      end
    end
  end
end
