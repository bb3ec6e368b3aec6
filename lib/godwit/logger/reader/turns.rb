# frozen_string_literal: true

require_relative "../record"

module Godwit
  class Logger < ::Logger
    class Reader
      # The messages that wait in a reader: a queue for each writer, read in turns. Not thread-safe.
      # @private
      class Turns
        # Messages that one connection brings at once, and before the next batch, at most.
        BATCH = 256
        BACKLOG = 32 * BATCH
        OVERHEAD = 256 # estimated bytes of a message besides its frames
        # One writer's messages with their sizes, and the sum of the sizes in bytes.
        Waiting = Struct.new(:messages, :bytes)

        # @return [Integer] messages dropped for lack of space
        attr_reader :dropped

        # @param most [Integer] bytes that may wait; beyond them, a writer with more than its equal
        #   share loses its new messages
        def initialize(most)
          @most = most
          @bytes = @dropped = 0
          @waiting = {}
        end

        # A full batch means that more messages wait in the socket: receive them at once, as one
        # connection brings the records of all writers.
        # @yield [count] returns at most so many messages; nil: there are none
        # @return [Array, nil] as the block
        def batch(size)
          batch = yield(size)
          return batch if @waiting.empty? && (batch.nil? || batch.size < size)
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
          waiting = @waiting[writer] ||= Waiting.new([], 0)
          size = OVERHEAD + (message.is_a?(String) ? message.bytesize : message.sum(&:bytesize))
          if @bytes + size > @most && waiting.bytes + size > @most / @waiting.size
            return @dropped += 1
          end
          waiting.messages << [message, size]
          waiting.bytes += size
          @bytes += size
        end

        # One message of each writer, then the next of each.
        # @return [Array] at most so many messages
        def take(count)
          taken = []
          while taken.size < count && (writer, waiting = @waiting.shift)
            next if waiting.messages.empty?
            message, size = waiting.messages.shift
            taken << message
            waiting.bytes -= size
            @bytes -= size
            @waiting[writer] = waiting unless waiting.messages.empty?
          end
          taken
        end
      end
      private_constant :Turns
    end
  end
end
