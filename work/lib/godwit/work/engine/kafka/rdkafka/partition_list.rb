# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Partitions with offsets and texts, as librdkafka accepts and returns them.
      # @private
      module PartitionList
        # An offset, or an error's code, of a partition. `metadata` is the text of a commit.
        Entry = Struct.new(:topic, :partition, :offset, :metadata, :error)
        UNASSIGNED = -1 # the partition of an entry that names a topic only, as for a subscription

        class << self
          # @param entries [Array<Entry>, nil] nil: all partitions, for which the list is NULL
          # @yieldparam list [FFI::Pointer, nil] the list, which is destroyed when the block ends
          # @return [Object] the block's value
          def with(entries)
            return yield nil unless entries
            list = Functions.topic_partition_list_new(entries.size)
            entries.each { |entry| add(list, entry) }
            yield list
          ensure
            Functions.topic_partition_list_destroy(list) if list
          end

          # @return [Array<Entry>]
          def read(list)
            return [] if list.null?
            head = Functions::Partitions.new(list)
            Array.new(head[:count]) do |index|
              entry(head[:elements] + index * Functions::Partition.size)
            end
          end

          # @param pointer [FFI::Pointer] to a partition in a list
          def entry(pointer)
            one = Functions::Partition.new(pointer)
            text = one[:metadata].read_bytes(one[:metadata_size]) unless one[:metadata].null?
            Entry.new(one[:topic].read_string.force_encoding(Encoding::UTF_8), one[:partition],
              one[:offset], text, one[:error])
          end

          private

          def add(list, entry)
            pointer = Functions.topic_partition_list_add(list, entry.topic,
              entry.partition || UNASSIGNED)
            one = Functions::Partition.new(pointer)
            one[:offset] = entry.offset if entry.offset
            return unless entry.metadata
            # librdkafka frees the copy with the list.
            copy = Functions.mem_malloc(nil, entry.metadata.bytesize)
            one[:metadata] = copy.put_bytes(0, entry.metadata)
            one.pointer.put(:size_t, one.offset_of(:metadata_size), entry.metadata.bytesize)
          end
        end
      end
    end
  end
end
