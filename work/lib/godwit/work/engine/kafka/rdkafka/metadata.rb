# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The structs of `rd_kafka_metadata`.
      # @private
      module Metadata
        # A cluster.
        class All < ::FFI::Struct
          layout :brokers, :int, :broker_list, :pointer, :topics, :int, :topic_list, :pointer
        end

        # A topic.
        class Topic < ::FFI::Struct
          layout :name, :pointer, :partitions, :int, :partition_list, :pointer, :error, :int
        end

        # @return [Hash{String => Integer}] partitions of topics without an error, by name
        def self.topics(pointer)
          all = All.new(pointer)
          Array.new(all[:topics]) { |index| Topic.new(all[:topic_list] + index * Topic.size) }
            .select { |topic| topic[:error].zero? }
            .to_h do |topic|
              [topic[:name].read_string.force_encoding(Encoding::UTF_8), topic[:partitions]]
            end
        end
      end
    end
  end
end
