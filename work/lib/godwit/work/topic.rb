# frozen_string_literal: true

module Godwit
  module Work
    # The settings of a topic. Frozen.
    #
    # @!attribute name
    #   @return [String]
    # @!attribute partitions
    #   @return [Integer]
    # @!attribute format
    #   @return [String] name of the format, such as "json", or the class name of a format object
    # @!attribute partitioner
    #   @return [Symbol] :crc32 or :murmur2
    # @!attribute retain
    #   @return [Numeric, nil] seconds until records are deleted; nil: never
    # @!attribute retain_bytes
    #   @return [Integer, nil] bytes above which the oldest records are deleted; nil: no limit
    # @!attribute kafka
    #   @return [Hash{String => String}, nil] properties with which Kafka creates the topic; nil of
    #     a topic that exists
    # @!attribute ids
    #   @return [Array<Integer>] the partitions' ids in the engine
    Topic = Struct.new(:name, :partitions, :format, :partitioner, :retain, :retain_bytes, :kafka,
      :ids, keyword_init: true) do
      # A key has the same partition in all programs: with :crc32 also by the `consistent_random` of
      # librdkafka, with :murmur2 by its `murmur2_random` and by Kafka's Java client.
      # @param key [String]
      # @return [Integer, nil] the partition; nil: any partition, for the key "" with :crc32
      def partition_of(key)
        Partitioner.hash(partitioner, key) % partitions unless key.empty? && partitioner != :murmur2
      end

      # @return [String]
      def inspect = "#<#{self.class} #{name}, #{partitions} partitions>"
      alias_method :to_s, :inspect

      # @private
      # @param id [Integer] a partition's id in the engine
      # @return [Integer, nil] the partition's number. The ids are sorted
      def number(id) = ids.bsearch_index { |one| id <=> one }

      # @private
      def with_defaults
        dup.tap do |topic|
          topic.partitions ||= self.class::PARTITIONS
          topic.format ||= "json"
          topic.partitioner ||= :crc32
        end
      end

      # @private
      # @param other [Topic] an existing topic
      # @return [String, nil] which setting differs from the other topic's; nil: none
      def difference(other)
        %i[partitions format partitioner].each do |name|
          next if self[name].nil? || other[name].nil? || self[name] == other[name]
          return "it has #{name}: #{other[name].inspect}, and not #{self[name].inspect}"
        end
        nil
      end
    end

    class Topic
      # The number of partitions of a topic that is created without `partitions:`.
      PARTITIONS = 8
      # Seconds after which records are deleted by default.
      RETAIN = 7 * 86_400
    end
  end
end
