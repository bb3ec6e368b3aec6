# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # A partition that this process owns, with a queue of its own: librdkafka fetches into it
      # until it is full, and goes on with the others.
      #
      # **Threads**: the coordinator of a Runner alone.
      # @private
      class Claim
        RECORDS = 10_000 # that a look takes at most
        # The offset is before the log's start, or behind its end.
        NOT_THERE = [1, -140].freeze
        END_REACHED = -191
        SEEK = 500 # milliseconds
        private_constant :RECORDS, :NOT_THERE, :END_REACHED, :SEEK

        # @param engine [KafkaEngine]
        # @param handle [Handle]
        # @param position [Position]
        # @param pipe [IO] gets the partition's id when there are records
        def initialize(engine, handle, position, pipe)
          @engine = engine
          @handle = handle
          @position = position
          @blocks = []
          @behind_gap = false
          topic = position.topic
          @queue = Functions.queue_get_partition(handle.pointer, topic.name, position.partition)
          # Before librdkafka assigns it: no record may come to the queue of the consumer.
          Functions.queue_forward(@queue, nil)
          id = [topic.ids[position.partition]].pack("V")
          Functions.queue_io_event_enable(@queue, pipe.fileno, id, id.bytesize)
        end

        # @return [Position] of the last commit
        attr_accessor :position

        # @return [String, nil] the id of the operator's seek that it follows
        attr_accessor :seek

        # Goes on at another offset.
        # @param position [Position]
        # @raise [Error]
        def move(position)
          @position = position
          @blocks.clear
          read_from(position.watermark)
        end

        # Gives the blocks that the reader has not passed, also again.
        # @param offset [Integer] of the next record to read
        # @param bytes [Integer] about how much
        # @return [Array<Block>]
        # @raise [Error]
        def fetch(offset, bytes)
          @blocks.shift while @blocks.any? && @blocks.first.finish <= offset
          left = bytes - @blocks.sum(&:bytesize)
          take(left, offset) if left > 0
          @blocks.dup
        end

        # @return [nil]
        def close
          Functions.queue_destroy(@queue) if @queue
          @queue = nil
        end

        private

        def take(bytes, offset)
          Native.drain(@queue.address, RECORDS, bytes).each do |one|
            next failed(one, offset) unless one.is_a?(Block)
            one.behind_gap = true if @behind_gap
            @behind_gap = false
            @blocks << one
          end
        end

        # @raise [Error]
        def failed(failure, offset)
          return if failure.code == END_REACHED
          unless NOT_THERE.include?(failure.code)
            raise Errors.of(failure.code, :fetch, failure.text, resource: failure.topic)
          end
          first = @engine.first_of(@position.topic, @position.partition)
          @behind_gap = first > offset
          read_from(first)
        end

        def read_from(offset)
          entry = PartitionList::Entry.new(@position.topic.name, @position.partition, offset)
          PartitionList.with([entry]) do |list|
            Errors.check(@handle.wait(:seek_partitions, @handle.pointer, list, SEEK), :fetch)
          end
        end
      end
    end
  end
end
