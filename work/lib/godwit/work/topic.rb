# frozen_string_literal: true

require "zlib"

module Godwit
  module Work
    # The settings of a topic. Frozen.
    #
    # @!attribute name
    #   @return [String]
    # @!attribute partitions
    #   @return [Integer]
    # @!attribute format
    #   @return [String] name of the format: "json", "raw", "text", or the name of an object's class
    # @!attribute retain
    #   @return [Numeric, nil] seconds that records are kept; nil: for ever
    # @!attribute ids
    #   @return [Array<Integer>] of the partitions in the engine
    Topic = Struct.new(:name, :partitions, :format, :retain, :ids, keyword_init: true) do
      # As librdkafka's `consistent_random`: a key's partition is the same in all programs.
      # @param key [String] nil and "" have any partition
      # @return [Integer] the partition
      def partition_of(key) = Zlib.crc32(key) % partitions

      # @private
      def with_defaults
        dup.tap do |topic|
          topic.partitions ||= self.class::PARTITIONS
          topic.format ||= "json"
        end
      end

      # @private
      # @param other [Topic]
      # @return [String, nil] what differs from the other's settings
      def difference(other)
        %i[partitions format].each do |name|
          next if self[name].nil? || self[name] == other[name]
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
