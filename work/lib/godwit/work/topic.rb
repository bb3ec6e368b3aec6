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
    #   @return [String] name of the format, such as "json", or of the class of an object
    # @!attribute partitioner
    #   @return [Symbol] :crc32 or :murmur2
    # @!attribute retain
    #   @return [Numeric, nil] seconds that records are kept; nil: for ever
    # @!attribute retain_bytes
    #   @return [Integer, nil] bytes above which the oldest records are deleted; nil: no limit
    # @!attribute kafka
    #   @return [Hash{String => String}, nil] properties for its creation on Kafka; nil of a topic
    #     that exists
    # @!attribute ids
    #   @return [Array<Integer>] of the partitions in the engine
    Topic = Struct.new(:name, :partitions, :format, :partitioner, :retain, :retain_bytes, :kafka,
      :ids, keyword_init: true) do
      # A key's partition is the same in all programs: as librdkafka's `consistent_random` does it,
      # or with :murmur2 as its `murmur2_random` and Kafka's Java client.
      # @param key [String]
      # @return [Integer, nil] the partition; nil: any, which is so for "" with :crc32
      def partition_of(key)
        Partitioner.hash(partitioner, key) % partitions unless key.empty? && partitioner != :murmur2
      end

      # @return [String]
      def inspect = "#<#{self.class} #{name}, #{partitions} partitions>"
      alias_method :to_s, :inspect

      # @private
      # @param id [Integer] of a partition in the engine
      # @return [Integer, nil] its number: the ids are in order
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
      # @param other [Topic]
      # @return [String, nil] what differs from the other's settings
      def difference(other)
        %i[partitions format partitioner].each do |name|
          next if self[name].nil? || other[name].nil? || self[name] == other[name]
          return "it has #{name}: #{other[name].inspect}, and not #{self[name].inspect}"
        end
        nil
      end
    end

    class Topic
      # Partitions of a topic that is created without a number of them.
      PARTITIONS = 8
      # Seconds that records are kept by default.
      RETAIN = 7 * 86_400
    end
  end
end
