# frozen_string_literal: true

require "logger"

module Godwit
  class Logger < ::Logger
    # The last seq of each durable writer. Beyond a number of writers it forgets those that have
    # been silent for longest.
    # @private
    class LastSequence
      MOST = 50_000

      def initialize(most = MOST)
        @most = most
        @seqs = {}
      end

      def [](writer) = @seqs[writer]

      def []=(writer, seq)
        @seqs.delete(writer) # moves the writer to the Hash's end
        @seqs[writer] = seq
        @seqs.shift if @seqs.size > @most
      end

      def known?(writer) = @seqs.key?(writer)
      def empty? = @seqs.empty?
      def to_h = @seqs
    end
    private_constant :LastSequence
  end
end
