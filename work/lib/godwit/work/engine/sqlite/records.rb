# frozen_string_literal: true

module Godwit
  module Work
    # The blocks of records in an SQLite file. The `id` of a block is the id of its partition, then
    # the offset of its first record: so the blocks of a partition lie together, in order.
    # @private
    class Records
      # Bits of an offset. They suffice for a year of 500,000 records a second in one partition.
      OFFSET_BITS = 44
      LARGEST = (1 << OFFSET_BITS) - 1 # the largest offset

      # Finds the id behind a partition's last record. ?1, ?2: the partition's least and largest id.
      LAST = "SELECT id + count FROM godwit_blocks WHERE id BETWEEN ?1 AND ?2 " \
        "ORDER BY id DESC LIMIT 1"
      APPEND = "INSERT INTO godwit_blocks (id, count, time, bytes) " \
        "VALUES (coalesce((#{LAST}), ?1), ?3, ?4, ?5)"
      # Reads the block that contains the id ?3, which may begin before ?3, and the later blocks.
      READ = <<~SQL
        SELECT id, time, bytes, count FROM godwit_blocks WHERE id BETWEEN coalesce((SELECT id
          FROM godwit_blocks WHERE id BETWEEN ?1 AND ?3 ORDER BY id DESC LIMIT 1), ?1) AND ?2
        ORDER BY id
      SQL
      SINCE = "SELECT id FROM godwit_blocks WHERE id BETWEEN ?1 AND ?2 AND time >= ?3 " \
        "ORDER BY id LIMIT 1"

      # @param clock [#call] milliseconds since 1970
      def initialize(file, processes, clock)
        @file = file
        @processes = processes
        @clock = clock
        @commits = 0
        @queue = CommitQueue.new { |batches| write(batches) }
      end

      def append(batches)
        @file.check
        @queue.submit(seal(batches)).tap { @processes.wake(batches) }
      end

      def read(topic, partition, offset, bytes)
        blocks = []
        rows(topic, partition, offset, bytes).each do |base, time, stored, count|
          blocks << block(topic, partition, base, time, stored, count)
        end
        blocks
      rescue CorruptError
        raise if blocks.empty?
        blocks # returns the blocks before the damaged block
      end

      def fetch(position, offset, bytes)
        read(position.topic, position.partition, offset, bytes).each do |block|
          next if block.finish <= offset
          block.behind_gap = block.offset > offset
          offset = block.finish
        end
      end

      def bounds(topic, since = 0)
        Array.new(topic.partitions) do |partition|
          least, largest = range(topic, partition)
          @file.use do |database|
            finish = database.value(LAST, least, largest) || least
            first = database.value(SINCE, least, largest, since) || finish
            [first - least, finish - least]
          end
        end
      end

      # @return [Array] numbers that change when any process has written
      def version = @file.use { |database| [database.data_version, @commits] }

      # @param batches [Array<Array>] as for {#append}
      # @return [Array<Array>] the same batches, each with the bytes of a {StoredBlock}
      def seal(batches)
        batches.map do |topic, partition, block, count|
          [topic, partition, StoredBlock.seal(block), count]
        end
      end

      # @return [Array<Array>] offset, time, bytes and count of each block: first the block that
      #   contains the offset, then later blocks
      def rows(topic, partition, offset, bytes)
        least, largest = range(topic, partition)
        @file.use do |database|
          database.rows(READ, least, largest, least + offset) do |row|
            (bytes -= row[2].bytesize) > 0
          end
        end.map { |id, *rest| [id - least, *rest] }
      end

      def block(topic, partition, offset, time, bytes, count)
        StoredBlock.new(bytes, offset, time,
          "topic #{topic.name}, partition #{partition}, offset #{offset}")
      rescue CorruptError => error
        raise error, "#{error.message}, or give its #{count} records up: `godwit-work seek " \
          "GROUP #{topic.name} --partition #{partition} --to #{offset + count}`"
      end

      def range(topic, partition)
        least = topic.ids.fetch(partition) << OFFSET_BITS
        [least, least + LARGEST]
      end

      # @param batches [Array<Array>] the result of {#seal}
      # @return [Array<Array(Integer, Integer)>] first offset and time of each batch
      def insert(database, batches)
        @commits += 1 if batches.any?
        time = @clock.call
        batches.map do |topic, partition, block, count|
          least = topic.ids.fetch(partition) << OFFSET_BITS
          [database.insert(APPEND, least, least + LARGEST, count, time, block) - least, time]
        end
      end

      private

      # Writes batches. A single INSERT needs no BEGIN, since SQLite makes it a transaction.
      # CommitQueue masks interrupts.
      def write(batches)
        @file.check
        @file.exclusive do
          database = @file.database
          result = if batches.size == 1
            insert(database, batches)
          else
            database.transaction { insert(database, batches) }
          end
          @file.checkpoint(batches.sum { |batch| batch[2].bytesize })
          result
        end
      end
    end
  end
end
