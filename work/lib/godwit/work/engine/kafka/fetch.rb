# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Fetches a partition from an offset on, without a group.
      #
      # **Threads**: one at a time.
      # @private
      class Fetch
        RECORDS = 10_000 # most records that a drain returns

        # @param handle [Handle] a consumer
        def initialize(handle, topic, partition, offset)
          @handle = handle
          @topic = Functions.topic_new(handle.pointer, topic, nil)
          @partition = partition
          @pipe = IO.pipe
          @queue = Functions.queue_new(handle.pointer)
          Functions.queue_io_event_enable(@queue, @pipe[1].fileno, "1", 1)
          @started = Functions.consume_start_queue(@topic, partition, offset, @queue).zero?
          return if @started
          code = Functions.last_error
          stop
          raise Errors.of(code, :read, nil, resource: topic)
        end

        # Returns the blocks and failures that have come, without waiting.
        # @param bytes [Integer] approximate bytes of records to return
        # @return [Array<Block, Failure>]
        def drain(bytes) = Native.drain(@queue.address, RECORDS, bytes)

        # Waits until blocks or failures have come, or the time is over.
        def wait(seconds)
          @pipe[0].read_nonblock(4_096, exception: false) if @pipe[0].wait_readable(seconds)
        end

        def stop
          return unless @queue
          @handle.wait(:consume_stop, @topic, @partition) if @started
          Handle.close_queue(@queue)
          Functions.topic_destroy(@topic)
          @pipe.each(&:close)
          @queue = nil
        end
      end
    end
  end
end
