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
        # @param seek [String, nil] the id of the operator's seek that the position follows
        def initialize(engine, handle, position, pipe, seek = nil)
          @engine = engine
          @handle = handle
          @position = position
          @seek = seek
          @blocks = []
          @behind_gap = false
          @stopped_at = nil # the offset that is not there, until librdkafka reads elsewhere
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

        # @return [Integer, nil] the log's start, when the log ends before the position: the topic
        #   was made again, or its brokers have lost records
        attr_reader :back_to

        # Goes on at another offset.
        # @param position [Position]
        # @raise [Error]
        def move(position)
          read_from(position.watermark)
          @position = position
          @blocks.clear
          @stopped_at = @back_to = nil
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

        # An error raises after the blocks that came with it are kept.
        def take(bytes, offset)
          blocks, failures = Native.drain(@queue.address, RECORDS, bytes)
            .partition { |one| one.is_a?(Block) }
          blocks.first.behind_gap = true if @behind_gap && blocks.any?
          @behind_gap &&= blocks.empty?
          @blocks.concat(blocks)
          gone, others = failures.reject { |one| one.code == END_REACHED }
            .partition { |one| NOT_THERE.include?(one.code) }
          @stopped_at = @blocks.last&.finish || offset if gone.any?
          go_on if @stopped_at && !@back_to
          one = others.first or return
          raise Errors.of(one.code, :fetch, one.text, resource: one.topic)
        end

        # Goes on at the log's start. The next call tries again what fails.
        # @raise [Error]
        def go_on
          first = @engine.first_of(@position.topic, @position.partition)
          return @back_to = first if first < @stopped_at
          read_from(first)
          @behind_gap = first > @stopped_at
          @stopped_at = nil
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
