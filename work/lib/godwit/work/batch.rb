# frozen_string_literal: true

module Godwit
  module Work
    # The records that `consume` gets, in order. `each` and `each_with_index` know which record
    # their block has: when the block raises, that record fails. All other methods are those of an
    # Array: when the block of `map` raises, no record of the batch counts as handled.
    #
    # **Threads**: one at a time.
    class Batch
      # Enumerable's methods. They use the Array of messages, and do not call {#each}.
      # @private
      module Methods
        (Enumerable.instance_methods - %i[to_a entries each_with_index]).each do |name|
          define_method(name) do |*arguments, **options, &block|
            @messages.public_send(name, *arguments, **options, &block)
          end
        end
      end
      private_constant :Methods
      include Enumerable
      include Methods

      # @private
      def initialize(messages)
        @messages = messages
      end

      # @private
      # @return [Message, nil] the message that the block of `each` handles now
      attr_reader :current

      # @yieldparam message [Message]
      # @return [self, Enumerator] an Enumerator without a block
      def each
        return @messages.each unless block_given?
        before = @current
        index = -1
        while (message = @messages[index += 1])
          @current = message
          yield message
        end
        self
      rescue Exception => error # standard:disable Lint/RescueException -- also exit
        @failed ||= [message, error]
        raise
      ensure
        @current = before
      end

      # @private
      # @return [Message, nil] the message for which the block of `each` raised this error
      def failed(error) = (@failed.first if @failed&.last.equal?(error))

      # @return [Integer] number of records
      def size = @messages.size
      alias_method :length, :size

      # @return [Boolean]
      def empty? = @messages.empty?

      # @param index [Array<Integer, Range>] see Array#[]
      # @return [Message, Array<Message>, nil]
      def [](*index) = @messages[*index]

      # @param count [Array<Integer>] see Array#last
      # @return [Message, Array<Message>, nil]
      def last(*count) = @messages.last(*count)

      # @return [Array<Message>]
      def to_a = @messages.dup

      # @return [String]
      def inspect = "#<#{self.class} #{size} records>"
    end
  end
end
