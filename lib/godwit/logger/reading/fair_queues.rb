# frozen_string_literal: true

require_relative "../wire/record"

module Godwit
  class Logger < ::Logger
    class Reader
      # The messages that wait in a reader: a queue for each writer. Each round takes one message of
      # every writer. Not thread-safe.
      class FairQueues
        # Messages that one connection brings at once, and before the next batch, at most.
        BATCH = 256
        BACKLOG = 32 * BATCH
        OVERHEAD = 256 # estimated bytes of a message besides its frames
        # One writer's messages with their sizes, and the sum of the sizes in bytes.
        Queue = Struct.new(:messages, :bytes)

        attr_reader :dropped # messages dropped for lack of space

        # @param most [Integer] bytes that may wait; beyond them, a writer with more than its equal
        #   share loses its new messages
        def initialize(most)
          @most = most
          @bytes = @dropped = 0
          @queues = {}
        end

        # A full batch means that more messages wait in the socket: receive them at once, as one
        # connection brings the records of all writers.
        # @yield [count] returns at most so many messages; nil: there are none
        def batch(size)
          batch = yield(size)
          return batch if @queues.empty? && (batch.nil? || batch.size < size)
          left = BACKLOG
          while batch
            batch.each { |message| put(message) }
            break unless (left -= batch.size).positive?
            batch = yield(BATCH)
          end
          take(size)
        end

        private

        def put(message)
          writer = Record.writer_of(message)
          queue = @queues[writer] ||= Queue.new([], 0)
          size = OVERHEAD + (message.is_a?(String) ? message.bytesize : message.sum(&:bytesize))
          return @dropped += 1 if @bytes + size > @most && queue.bytes + size > @most / @queues.size
          queue.messages << [message, size]
          queue.bytes += size
          @bytes += size
        end

        # One message of each writer, then the next of each.
        def take(count)
          taken = []
          while taken.size < count && (writer, queue = @queues.shift)
            next if queue.messages.empty?
            message, size = queue.messages.shift
            taken << message
            queue.bytes -= size
            @bytes -= size
            @queues[writer] = queue unless queue.messages.empty?
          end
          taken
        end
      end
      private_constant :FairQueues
    end
  end
end
