# frozen_string_literal: true

module Godwit
  module Work
    # Where a record was written. Frozen.
    #
    # @!attribute partition
    #   @return [Integer]
    # @!attribute offset
    #   @return [Integer] position in the partition
    # @!attribute timestamp
    #   @return [Time]
    Receipt = Struct.new(:partition, :offset, :timestamp)

    # A record that was read.
    #
    # **Threads**: any thread may read it. The value is decoded at each call.
    class Message
      # @private
      def initialize(source, index)
        @source = source
        @index = index
      end

      # @return [Integer] 1 at first, one more at each retry
      def attempt = @attempt || 1
      # @private
      # @return [Source]
      attr_reader :source

      # @private
      attr_writer :attempt
      # @private
      # @return [Exception, nil] that the block of `parallel by:` raised for this message
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
      # @return [String, nil] binary
      def key = @source.block.keys&.[](@index)
      # @return [Array<Array(String, String)>] pairs of name and value, in order; a name may repeat,
      #   and a value may be nil
      def headers = @source.block.headers(@index)
      # @return [String]
      def topic = @source.topic.name
      # @return [Integer]
      def partition = @source.partition
      # @return [Integer] position in the partition
      def offset = @source.offset + @index

      # @return [Time] when it was produced
      def timestamp
        time = @source.block.time(@index)
        Time.at(time / 1000, time % 1000, :millisecond)
      end

      # @return [String]
      def inspect = "#<#{self.class} #{topic} #{partition}/#{offset} key=#{key.inspect}>"
    end

    # A block that was read, and what its messages have in common. Its last unfinished message keeps
    # all of its bytes in memory.
    #
    # @!attribute unfinished
    #   @return [Integer, nil] messages; a member, since instance variables of a Struct are slow
    # @private
    Source = Struct.new(:topic, :format, :partition, :offset, :block, :unfinished) do
      # @param count [Integer] of more messages that are finished
      # @return [Integer] bytes of memory that are free from then on
      def release(count) = (self.unfinished -= count).zero? ? block.bytesize : 0

      # @param from [Integer] offset of the first message
      # @return [Array<Message>]
      def messages(from)
        first = [from - offset, 0].max
        Array.new([block.count - first, 0].max) { |index| Message.new(self, first + index) }
      end

      # @return [Integer] offset behind the last message
      def finish = block.finish
    end
  end
end
