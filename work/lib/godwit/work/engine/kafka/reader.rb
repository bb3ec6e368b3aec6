# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Reads partitions from any offset, without a group.
      #
      # **Threads**: any; one reads at a time.
      # @private
      class Reader
        def initialize(settings, cluster)
          @settings = settings
          @cluster = cluster
          @lock = Mutex.new
        end

        # @param offset [Integer] of the first record; if it was deleted, of the next one
        # @param bytes [Integer] approximate bytes of records to return
        # @return [Array<Block>] empty at the partition's end
        def read(topic, partition, offset, bytes)
          Timers.locked(@lock, :read) do
            start = [topic, partition, offset]
            unless @next == start
              stop
              @fetch = Fetch.new(handle, *start)
            end
            found, ended = drain(bytes)
            # librdkafka reports a partition's end once: a read from the end needs another Fetch.
            ended ? stop : @next = [topic, partition, found.last.finish]
            found
          rescue NotThere
            stop
            first = @cluster.first(topic, partition)
            return [] if first <= offset
            offset = first
            retry
          rescue
            stop
            raise
          end
        end

        def close
          @lock.synchronize do
            stop
            @handle&.close
          end
          nil
        end

        # The error of an offset that is not in the log.
        class NotThere < StandardError
        end

        private

        def handle
          @handle ||= Handle.new(Handle::CONSUMER, @settings.reader)
        end

        def stop
          @next = nil
          @fetch&.stop
          @fetch = nil
        end

        # @return [Array(Array<Block>, Boolean)] blocks, and whether the partition's end is reached
        def drain(bytes)
          start = Timeout.now
          loop do
            found, failures = @fetch.drain(bytes).partition { |one| one.is_a?(Block) }
            failures.each { |one| check(one) }
            return [found, failures.any?] if found.any? || failures.any?
            remaining = Timeout.remaining(@settings.timeout, start)
            raise Errors.of(Errors::TIMED_OUT, :read, handle.cause) if remaining.zero?
            @fetch.wait([remaining, Handle::SLICE].min)
          end
        end

        def check(failure)
          return if failure.end?
          raise failure.not_there? ? NotThere : failure.to_error(:read)
        end
      end
    end
  end
end
