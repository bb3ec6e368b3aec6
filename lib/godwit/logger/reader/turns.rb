# frozen_string_literal: true

require_relative "../record"

module Godwit
  class Logger < ::Logger
    class Reader
      # Messages that wait in a reader, a queue for each writer. The writers take turns.
      # One thread at a time uses it.
      # @private
      class Turns
        # Bytes that a message takes beside its frames, about.
        OVERHEAD = 256
        # Messages of one writer, and their bytes.
        Waiting = Struct.new(:messages, :bytes)
        private_constant :OVERHEAD, :Waiting

        # @return [Integer] messages that found no room
        attr_reader :dropped

        # @param most [Integer] bytes that may wait; when they are exceeded, a writer with more than its equal share
        #   gets no more
        def initialize(most)
          @most = most
          @bytes = @dropped = 0
          @waiting = {}
        end

        def empty? = @waiting.empty?

        # @param messages [Array<Array<String>, String>] as Socket#recv gives them
        def put(messages)
          messages.each do |message|
            writer = Record.writer_of(message)
            waiting = @waiting[writer] ||= Waiting.new([], 0)
            size = size_of(message)
            next @dropped += 1 if @bytes + size > @most && waiting.bytes + size > @most / @waiting.size
            waiting.messages << message
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
            taken << (message = waiting.messages.shift)
            size = size_of(message)
            waiting.bytes -= size
            @bytes -= size
            @waiting[writer] = waiting unless waiting.messages.empty?
          end
          taken
        end

        private

        def size_of(message) = OVERHEAD + (message.is_a?(String) ? message.bytesize : message.sum(&:bytesize))
      end
      private_constant :Turns
    end
  end
end
