# frozen_string_literal: true

module Godwit
  module Work
    # The records that `consume` gets, in order.
    #
    # **Threads**: one at a time.
    class Batch
      include Enumerable

      # @private
      def initialize(messages)
        @messages = messages
      end

      # @private
      # @return [Message, nil] that a block of `each` has now
      attr_reader :current

      # @yieldparam message [Message]
      # @return [self, Enumerator] an Enumerator without a block
      def each
        return to_enum(:each) { size } unless block_given?
        @messages.each do |message|
          @current = message
          yield message
        end
        @current = nil
        self
      end

      # @return [Integer] records
      def size = @messages.size

      # @return [Array<Message>]
      def to_a = @messages.dup

      # @return [String]
      def inspect = "#<#{self.class} #{size} records>"
    end
  end
end
