# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The topics of a cluster as {Work::Topic}s. A topic of another program has no format and no
      # partitioner until Work declares it.
      #
      # **Threads**: any.
      # @private
      class Topics
        INTERNAL = /\A(__|_godwit\.)/
        # How many ids each topic gets for its partitions. Id 0 stands for all partitions.
        BEHIND = 10_000
        KNOWN = 60 # seconds for which a process uses the topic properties that it has read
        TIME = "retention.ms"
        BYTES = "retention.bytes"

        def initialize(cluster, state, settings)
          @cluster = cluster
          @state = state
          @settings = settings
          @numbers = {}
          @properties = {}
          @properties_until = 0
          @lock = Mutex.new
        end

        # @return [Hash{String => Work::Topic}]
        def all
          counts = @cluster.topics
          @state.refresh(counts.key?(State::TOPIC))
          counts = counts.reject { |name, _| name.match?(INTERNAL) }
          properties = properties(counts.keys)
          counts.sort.to_h { |name, count| [name, topic(name, count, properties[name])] }
        end

        # (see Contract#save_topic)
        def save(topic)
          found = all[topic.name]
          if topic.ids
            alter(found, topic)
          elsif found.nil?
            create(topic)
          elsif found.format.nil?
            declare(topic)
          end
          await(topic)
        end

        private

        def topic(name, count, properties)
          fact = @state["topic", name] || {}
          first = number(name) * BEHIND + 1
          limits = Topics.limits(properties || {}, count)
          Topic.new(name: name, partitions: count, format: fact["format"],
            partitioner: fact["partitioner"]&.to_sym, **limits,
            ids: (first...first + count).to_a).freeze
        end

        def number(name)
          @lock.synchronize { @numbers[name] ||= @numbers.size }
        end

        # @return [Hash{String => Hash}] properties by topic, at most KNOWN seconds old
        def properties(names)
          @lock.synchronize do
            @properties.clear if Timeout.now > @properties_until
            missing = names - @properties.keys
            next if missing.empty?
            @properties_until = Timeout.now + KNOWN if @properties.empty?
            @properties.update(@cluster.properties(missing))
          end
          @properties
        end

        def create(topic)
          kafka = UserProperties.topic(topic.kafka || {})
          copies = kafka.fetch(REPLICATION, "-1") # -1: the cluster's default
          properties = Topics.size.merge(kafka.except(REPLICATION), Topics.retention(topic))
          made = @cluster.create(topic.name, topic.partitions, Integer(copies), properties)
          declare(topic) if made
        end

        def declare(topic)
          @state.write("topic", topic.name,
            {"format" => topic.format, "partitioner" => topic.partitioner.to_s})
        end

        def alter(found, topic)
          wanted = Topics.retention(topic)
          if Topics.retention(found) != wanted
            @cluster.change_properties(topic.name, wanted)
            @lock.synchronize do
              @properties[topic.name] = @properties.fetch(topic.name, {}).merge(wanted)
            end
          end
          @cluster.grow(topic.name, topic.partitions) if topic.partitions > found.partitions
        end

        # Waits until this process sees the topic.
        def await(topic)
          least = topic.ids ? topic.partitions : 1
          start = Timeout.now
          loop do
            found = all[topic.name]
            return found if found && found.partitions >= least && found.format && leaders?(found)
            raise Errors.of(Errors::TIMED_OUT, :topic, nil, resource: topic.name) if
              Timeout.remaining(@settings.timeout, start).zero?
            sleep SEEN
          end
        end

        # @return [Boolean] whether each partition has a leader
        def leaders?(topic)
          !@cluster.ends(topic.name, topic.partitions).nil?
        rescue TopicError, BrokerError
          false
        end

        REPLICATION = "replication.factor"
        SEEN = 0.01 # seconds between two checks whether a change has taken effect

        class << self
          # @return [Hash{String => String}] most bytes of a message; brokers' default is too small
          def size = {"max.message.bytes" => Properties["message.max.bytes"].value.to_s}

          # @return [Hash{String => String}] the topic's limits as properties
          def retention(topic)
            bytes = topic.retain_bytes&.then { |all| [all / topic.partitions, 1].max }
            {TIME => (topic.retain ? (topic.retain * 1000).round : -1).to_s,
             BYTES => (bytes || -1).to_s}
          end

          # @return [Hash{Symbol => Numeric}] these properties as `retain` and `retain_bytes`
          def limits(properties, partitions)
            time, bytes = [TIME, BYTES].map { |name| Integer(properties.fetch(name, -1)) }
            seconds = Declaration.finite(Rational(time, 1000)) unless time < 0
            {retain: seconds, retain_bytes: (bytes * partitions unless bytes < 0)}
          end
        end
      end
    end
  end
end
