# frozen_string_literal: true

require_relative "../record"

module Godwit
  class Logger < ::Logger
    class Reader
      # Messages that wait in a reader, a queue for each writer. The writers take turns.
      # One thread at a time uses it.
      # @private
      class Turns
        # Messages that one connection brings at once, and before the next batch, at most.
        BATCH = 256
        BACKLOG = 32 * BATCH
        # Bytes that a message takes beside its frames, about.
        OVERHEAD = 256
        # Messages of one writer, and their bytes.
        Waiting = Struct.new(:messages, :sizes, :bytes)
        private_constant :BATCH, :BACKLOG, :OVERHEAD, :Waiting

        # @return [Integer] messages that found no room
        attr_reader :dropped

        # @param most [Integer] bytes that may wait; when they are exceeded, a writer with more than
        #   its equal share gets no more
        def initialize(most)
          @most = most
          @bytes = @dropped = 0
          @waiting = {}
        end

        # A full batch means that more wait. They are taken at once, as one connection brings the
        # records of all writers.
        # @yieldparam count [Integer] at most so many
        # @yieldreturn [Array, nil] messages; nil: nothing was there
        # @return [Array, nil] as the block
        def batch(size)
          batch = yield(size)
          return batch if @waiting.empty? && (batch.nil? || batch.size < size)
          left = BACKLOG
          while batch
            put(batch)
            break unless (left -= batch.size).positive?
            batch = yield(BATCH)
          end
          take(size)
        end

        private

        # @param messages [Array<Array<String>, String>] as Socket#recv gives them
        def put(messages)
          messages.each do |message|
            writer = Record.writer_of(message)
            waiting = @waiting[writer] ||= Waiting.new([], [], 0)
            size = size_of(message)
            next @dropped += 1 if @bytes + size > @most &&
              waiting.bytes + size > @most / @waiting.size
            waiting.messages << message
            waiting.sizes << size
            waiting.bytes += size
            @bytes += size
          end
        end

        # One of each writer, then the next of each.
        # @return [Array] at most so many messages
        def take(count)
          taken = []
          while taken.size < count && (writer, waiting = @waiting.shift)
            next if waiting.messages.empty?
            taken << waiting.messages.shift
            size = waiting.sizes.shift
            waiting.bytes -= size
            @bytes -= size
            @waiting[writer] = waiting unless waiting.messages.empty?
          end
          taken
        end

        def size_of(message)
          OVERHEAD + (message.is_a?(String) ? message.bytesize : message.sum(&:bytesize))
        end
      end
      private_constant :Turns
    end
  end
end
