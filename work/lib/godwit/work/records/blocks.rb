# frozen_string_literal: true

module Godwit
  module Work
    # Makes the blocks of one produce call: one for each partition, or several if the call has many
    # records or bytes.
    # @private
    class Blocks
      # Collects the records of one block, and makes their receipts.
      class Builder
        def initialize(partition)
          @partition = partition
          @values = []
          @keys = @headers = nil
        end

        attr_reader :partition

        def add(value, key, headers)
          (@keys ||= [])[@values.size] = key if key
          (@headers ||= [])[@values.size] = headers if headers
          @values << value
        end

        # @return [Integer] number of records
        def size = @values.size

        # @return [Array] topic, partition, bytes and number of records, for the engine
        def batch(topic)
          size = @values.size
          # The last records may have no key or headers: nil fills the end of these Arrays.
          [@keys, @headers].each { |column| column[size - 1] ||= nil if column }
          [topic, @partition, Block.encode(@values, @keys, @headers), size]
        end

        # @param offset [Integer, Array<Integer>] of the first record, or of each record
        # @param time [Integer, Array<Integer>] of all records, or of each, in ms since 1970
        def written(offset, time)
          return @written = offset.zip(time) if offset.is_a?(Array)
          @next = offset - 1
          @time = time_at(time)
        end

        # @return [Receipt] of the next record
        def receipt = Receipt.new(@partition, advance, @time).freeze

        # Fills in the receipt of the next record.
        def fill(receipt)
          receipt.offset = advance
          receipt.timestamp = @time
          receipt.freeze
        end

        private

        # @return [Integer] the offset of the next record; sets @time to the time of this record
        def advance
          return @next += 1 unless @written
          offset, time = @written.shift
          @time = time_at(time)
          offset
        end

        def time_at(time) = Time.at(time / 1000, time % 1000, :millisecond)
      end

      # @param format [Object] see Format
      # @param any [Integer] the partition of records without a key
      def initialize(topic, format, any)
        @topic = topic
        @format = format
        @open = {}
        @all = []
        @order = [] # the Builder of each record, in the order of the records
        @bytes = 0
        @any = any
      end

      # @return [Blocks] self
      def add(value, key = nil, headers = nil)
        bytes = @format.dump(value) unless value.nil?
        if bytes && bytes.bytesize > Client::MAX_VALUE
          too_large("the value", bytes.bytesize, Client::MAX_VALUE)
        end
        headers = pairs(headers) if headers
        check(key, headers) if key || headers
        put(bytes, key, headers)
        self
      end

      # @return [Integer] number of records so far
      def size = @order.size
      def empty? = @order.empty?

      # Adds a record whose value is already encoded.
      def put(bytes, key, headers)
        partition = (key && @topic.partition_of(key)) || @any
        builder = @open[partition] || begin_block(partition)
        builder.add(bytes, key, headers)
        @order << builder
        @open.delete(partition) if builder.size == Client::BLOCK_RECORDS
        @bytes += size_of(key, headers) + (bytes ? bytes.bytesize : 0)
        return if @bytes < Client::BLOCK
        @open.clear
        @bytes = 0
      end

      # @return [Array<Array>] {Builder#batch} of each block
      def batches = @batches ||= @all.map { |builder| builder.batch(@topic) }

      # @return [Array<Receipt>] in the order of the records; {#written} adds offsets and times
      def receipts
        @receipts ||= @order.map { |builder| Receipt.new(builder.partition) }
      end

      # @param results [Array<Array>] offset and time of each batch, or of each of its records
      # @return [Array<Receipt>] of all records
      def written(results)
        @all.zip(results) { |builder, one| builder.written(*one) }
        return @order.map(&:receipt) unless @receipts
        @receipts.zip(@order) { |receipt, builder| builder.fill(receipt) }
        @receipts
      end

      private

      def begin_block(partition)
        @open[partition] = Builder.new(partition).tap { |builder| @all << builder }
      end

      def pairs(headers)
        pairs = headers.is_a?(Hash) ? headers.to_a : headers
        wrong = pairs.is_a?(Array) ? pairs.reject { |pair| pair?(pair) } : [headers]
        return DeadLetter.for_all(pairs) if wrong.empty?
        raise Godwit::Errors.bad_value(:produce, "headers:",
          "pairs of a String and a String or nil, in a Hash or an Array", wrong.first)
      end

      def pair?(pair)
        pair in [String, String | nil]
      end

      def check(key, headers)
        unless key.nil? || key.is_a?(String)
          raise Godwit::Errors.bad_value(:produce, "key:", "a String or nil", key)
        end
        size = size_of(key, headers)
        too_large("the key with the headers", size, Client::MAX_KEY) if size > Client::MAX_KEY
      end

      def size_of(key, headers)
        size = key ? key.bytesize : 0
        headers&.each { |name, value| size += name.bytesize + (value ? value.bytesize : 0) }
        size
      end

      def too_large(what, size, most)
        raise FormatError, "#{what} has #{size} bytes, and may have #{most}: store it elsewhere, " \
          "and send where it is"
      end
    end
  end
end
