# frozen_string_literal: true

module Godwit
  module Work
    # The records that `consume` gets, in order. `each` and `each_with_index` know which record
    # their block has: when it raises, that record fails. All other methods are those of an Array:
    # a `map` that raises has not yet handled the records before.
    #
    # **Threads**: one at a time.
    class Batch
      # Enumerable's methods, which leave {#each} alone.
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
      # @return [Message, nil] that a block of `each` has now
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
      # @return [Message, nil] whose block raised this error
      def failed(error) = (@failed.first if @failed&.last.equal?(error))

      # @return [Integer] records
      def size = @messages.size
      alias_method :length, :size

      # @return [Boolean]
      def empty? = @messages.empty?

      # @param index [Array<Integer, Range>] as an Array takes it
      # @return [Message, Array<Message>, nil]
      def [](*index) = @messages[*index]

      # @param count [Array<Integer>] none: the last one
      # @return [Message, Array<Message>, nil]
      def last(*count) = @messages.last(*count)

      # @return [Array<Message>]
      def to_a = @messages.dup

      # @return [String]
      def inspect = "#<#{self.class} #{size} records>"
    end
  end
end
