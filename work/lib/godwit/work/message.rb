# frozen_string_literal: true

module Godwit
  module Work
    # Where a record was written. Frozen.
    #
    # @!attribute partition
    #   @return [Integer] number of the partition
    # @!attribute offset
    #   @return [Integer] position in the partition
    # @!attribute timestamp
    #   @return [Time] when the record was written
    Receipt = Struct.new(:partition, :offset, :timestamp)

    # A record that was read.
    #
    # **Threads**: any thread may read a message. Each call of `value` decodes the bytes again.
    class Message
      # @private
      def initialize(source, index)
        @source = source
        @index = index
      end

      # @return [Integer] number of the handler's attempt: 1 at first, one more at each retry
      def attempt = @attempt || 1
      # @private
      # @return [Source] the block that contains this message
      attr_reader :source

      # @private
      attr_writer :attempt
      # @private
      # @return [Exception, nil] the error that the lambda of `parallel by:` raised for this message
      attr_accessor :fault

      # @return [Object, nil] decoded by the topic's format; nil: a tombstone
      # @raise [FormatError] when the bytes do not fit the format
      # @raise [TopicError] when the format is an object that this process has not declared
      def value
        bytes = raw
        bytes && (@source.format || raise(Format.unknown(@source.topic))).load(bytes)
      end

      # @return [String, nil] the bytes of the value; nil: a tombstone
      def raw = @source.block.values[@index]
      # @return [String, nil] the bytes of the key; nil: the record has no key
      def key = @source.block.keys&.[](@index)
      # @return [Array<Array(String, String)>] pairs of name and value, in order; a name may repeat,
      #   and a value may be nil
      def headers = @source.block.headers(@index)
      # @return [String] name of the topic
      def topic = @source.topic.name
      # @return [Integer] number of the partition
      def partition = @source.partition
      # @return [Integer] position in the partition
      def offset = @source.offset + @index

      # @return [Time] when the record was produced
      def timestamp
        time = @source.block.time(@index)
        Time.at(time / 1000, time % 1000, :millisecond)
      end

      # @return [String] topic, partition, offset and key
      def inspect = "#<#{self.class} #{topic} #{partition}/#{offset} key=#{key.inspect}>"
    end

    # A block that was read, and what its messages have in common. The bytes of a block stay in
    # memory until its last message is finished.
    #
    # @!attribute unfinished
    #   @return [Integer, nil] number of unfinished messages of the block
    # @private
    Source = Struct.new(:topic, :format, :partition, :offset, :block, :unfinished) do
      # @param count [Integer] number of messages that have just finished
      # @return [Integer] bytes of the block if none of its messages is unfinished now; else 0
      def release(count) = (self.unfinished -= count).zero? ? block.bytesize : 0

      # @param from [Integer] least offset of a message to return
      # @return [Array<Message>]
      def messages(from)
        first = [from - offset, 0].max
        Array.new([block.count - first, 0].max) { |index| Message.new(self, first + index) }
      end

      # @return [Integer] offset that follows the last message
      def finish = block.finish
    end
  end
end
