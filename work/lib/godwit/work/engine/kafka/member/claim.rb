# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # A partition that this process owns. It has its own queue: librdkafka stops fetching into a
      # full queue, and goes on with the other partitions.
      #
      # **Threads**: one, that of a Runner's coordinator.
      # @private
      class Claim
        RECORDS = 10_000 # most records that a drain returns
        SEEK = 500 # milliseconds that a seek may take
        NONE = Block.encode([]).freeze

        # @param pipe [IO] librdkafka writes the partition's id to it when records have come
        # @param seek [String, nil] the id of the operator's last seek that the position includes
        def initialize(engine, handle, position, pipe, seek = nil)
          @engine = engine
          @handle = handle
          @position = position
          @seek = seek
          @blocks = []
          @behind_gap = false
          @draining = false
          @stopped_at = nil # see {#stopped_at}
          topic = position.topic
          forget_position
          @queue = Functions.queue_get_partition(handle.pointer, topic.name, position.partition)
          # This call comes before librdkafka assigns the partition: otherwise records would come to
          # the consumer's queue.
          Functions.queue_forward(@queue, nil)
          id = [topic.ids[position.partition]].pack("V")
          Functions.queue_io_event_enable(@queue, pipe.fileno, id, id.bytesize)
        end

        # @return [Position] of the last commit
        attr_accessor :position

        # @return [String, nil] the id of the operator's last seek that the position includes
        attr_accessor :seek

        # @return [Integer, nil] where librdkafka has stopped reading: the log lacks this offset
        attr_reader :stopped_at

        # Continues at another offset.
        def move(position)
          @stopped_at ? restart(position.watermark) : read_from(position.watermark)
          forget_position
          @position = position
          @blocks.clear
          @stopped_at = nil
        end

        # Continues at the log's start, unless the start is before {#stopped_at}. No rebalance
        # may be under way: librdkafka would treat this call as a part of the rebalance.
        # @return [Integer, nil] the log's start, if it is before {#stopped_at}: the topic was
        #   made again, or its brokers have lost records
        def go_on
          first = @engine.cluster.first(@position.topic.name, @position.partition)
          return first if first < @stopped_at
          restart(first)
          forget_position
          @behind_gap = first > @stopped_at
          @stopped_at = nil
        end

        # Returns the blocks that end behind the offset; a later call may return a block again.
        # @param offset [Integer] of the next record to read
        # @param bytes [Integer] approximate bytes of records to return
        # @return [Array<Block>]
        def fetch(offset, bytes)
          @blocks.shift while @blocks.any? && @blocks.first.finish <= offset
          remaining = bytes - @blocks.sum(&:bytesize)
          drain(remaining, offset) if remaining > 0
          @blocks.dup
        end

        def close
          Handle.close_queue(@queue) if @queue
          @queue = nil
        end

        private

        # Stores the blocks of a drain before it raises an error of the same drain.
        def drain(bytes, offset)
          drain_again(offset) if @draining
          @draining = true
          blocks, failures = Native.drain(@queue.address, RECORDS, bytes)
            .partition { |one| one.is_a?(Block) }
          blocks.first.behind_gap = true if @behind_gap && blocks.any?
          @behind_gap &&= blocks.empty?
          @blocks.concat(blocks)
          @draining = false
          failures.each { |one| @failed = one.offset if one.offset > @failed }
          pass(offset) if @blocks.empty?
          gone, others = failures.reject(&:end?).partition(&:not_there?)
          @stopped_at = @blocks.last&.finish || offset if gone.any?
          raise others.first.to_error(:fetch) if others.any?
        end

        # Reads again after an exception, such as one of Thread#raise, ended a drain, since the
        # records of that drain are lost.
        def drain_again(offset)
          read_from(@blocks.last&.finish || offset)
          forget_position
          @draining = false
        end

        # Adds an empty block, which moves the position behind control records, such as the end of a
        # transaction: librdkafka does not return control records.
        def pass(offset)
          reached = passed
          return if reached <= offset || reached == @before || offset <= @failed
          @blocks << Block.new(NONE, reached, "").tap { |one| one.behind_gap = @behind_gap }
          @behind_gap = false
        end

        # Makes `pass` ignore the position that librdkafka reports now: after a seek librdkafka may
        # report the old position until records come. `pass` also ignores positions up to @failed,
        # the largest offset of an error entry, since error entries move the position, too.
        def forget_position
          @before = passed
          @failed = -1
        end

        # @return [Integer] the offset behind the records that librdkafka returned; below 0: none
        def passed
          with(0) do |list|
            Functions.position(@handle.pointer, list)
            PartitionList.read(list).first.offset
          end
        end

        def read_from(offset)
          with(offset) do |list|
            Errors.check(@handle.wait(:seek_partitions, @handle.pointer, list, SEEK), :fetch)
            code = PartitionList.read(list).first.error
            raise Errors.of(code, :fetch, nil, resource: @position.topic.name) unless code.zero?
          end
        end

        # Assigns the partition again, since librdkafka refuses to seek after an error.
        def restart(offset)
          with(offset) do |list|
            Errors.check(Functions.incremental_unassign(@handle.pointer, list), :fetch)
            Functions.queue_forward(@queue, nil)
            Errors.check(Functions.incremental_assign(@handle.pointer, list), :fetch)
          end
        end

        def with(offset, &block)
          entry = PartitionList::Entry.new(@position.topic.name, @position.partition, offset)
          PartitionList.with([entry], &block)
        end
      end
    end
  end
end
