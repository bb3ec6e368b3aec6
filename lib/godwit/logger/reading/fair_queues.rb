# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Reader
      # The records that wait in a reader: a queue for each writer, and one for lines and foreign
      # messages. {#dequeue} takes from the queues in turn. Not thread-safe.
      class FairQueues
        # Most messages that one call receives; BACKLOG: most that are received for one batch.
        BATCH = 256
        BACKLOG = 32 * BATCH
        OVERHEAD = 384 # estimated bytes of memory of a record besides its frames
        # A waiting record or foreign message, and its size. A Queue's `bytes` is the sum of sizes.
        Waiting = Struct.new(:found, :bytes)
        Queue = Struct.new(:waiting, :bytes)

        attr_reader :dropped # records and messages dropped for lack of space

        # @param most [Integer] bytes that may wait; beyond them, a writer with more than its equal
        #   share loses its new records
        def initialize(most)
          @most = most
          @bytes = @dropped = 0
          @queues = {}
        end

        # After a full batch, more messages may wait in the socket: they are received at once and
        # sorted by writer, since one connection brings the records of all writers.
        # @yield [count] returns the records of up to `count` messages; nil: no message waits
        def batch(size)
          batch = yield(size)
          return batch if @queues.empty? && (batch.nil? || batch.size < size)
          remaining = BACKLOG
          while batch
            batch.each { |found| put(found) }
            break unless (remaining -= batch.size).positive?
            batch = yield(BATCH)
          end
          dequeue(size)
        end

        private

        def put(found)
          record = found.is_a?(Record)
          queue = @queues[record ? found.writer : nil] ||= Queue.new([], 0)
          size = OVERHEAD + Array(record ? found.frames : found).sum(&:bytesize)
          return @dropped += 1 if @bytes + size > @most && queue.bytes + size > @most / @queues.size
          queue.waiting << Waiting.new(found, size)
          queue.bytes += size
          @bytes += size
        end

        # Removes up to `count` records: each queue's first, then each queue's second, and so on.
        def dequeue(count)
          batch = []
          while batch.size < count && (writer, queue = @queues.shift)
            next if queue.waiting.empty?
            first = queue.waiting.shift
            batch << first.found
            queue.bytes -= first.bytes
            @bytes -= first.bytes
            @queues[writer] = queue unless queue.waiting.empty?
          end
          batch
        end
      end
      private_constant :FairQueues
    end
  end
end
