# frozen_string_literal: true

module Godwit
  module Work
    # Makes the blocks of one produce call: one for each partition, more only for many bytes.
    # @private
    class Blocks
      # The records of a block, in order.
      class Columns
        def initialize(partition)
          @partition = partition
          @values = []
          @bytes = 0
          @next = nil
        end

        # @return [Integer] bytes of values so far
        attr_reader :bytes

        def add(value, key, headers)
          (@keys ||= [])[@values.size] = key if key
          (@headers ||= [])[@values.size] = headers if headers
          @values << value
          @bytes += value.bytesize if value
        end

        # @return [Array] for the engine
        def batch(topic)
          size = @values.size
          [@keys, @headers].each { |column| column[size - 1] ||= nil if column } # as long as values
          [topic, @partition, Block.encode(@values, @keys, @headers), size]
        end

        # @return [Integer]
        attr_reader :partition

        def place(offset, time)
          @next = offset
          @time = Time.at(0, time, :millisecond)
        end

        # @return [Receipt] of the next record
        def receipt
          Receipt.new(@partition, @next, @time).freeze.tap { @next += 1 }
        end

        # Fills in the receipt of the next record.
        def fill(receipt)
          receipt.offset = @next
          receipt.timestamp = @time
          @next += 1
          receipt.freeze
        end
      end
      private_constant :Columns

      # @param topic [Topic]
      # @param format [Object] see Format
      def initialize(topic, format)
        @topic = topic
        @format = format
        @open = {}
        @order = [] # the Columns of each record
        # Records without a key stay together, so that a call writes few blocks.
        @any = topic.partition_of(nil)
      end

      # @raise [FormatError, ArgumentValueError]
      def add(value, key, headers)
        bytes = value.nil? ? nil : @format.dump(value)
        headers = pairs(headers) if headers
        check(bytes, key, headers)
        put(bytes, key, headers)
      end

      # Adds bytes as they are.
      def put(bytes, key, headers)
        partition = key ? @topic.partition_of(key) : @any
        columns = @open[partition]
        if columns.nil? || columns.bytes >= Client::BLOCK
          columns = @open[partition] = Columns.new(partition)
        end
        columns.add(bytes, key, headers)
        @order << columns
      end

      # @return [Array<Array>] for the engine
      def batches = @batches ||= all.map { |columns| columns.batch(@topic) }

      # @return [Array<Receipt>] in the order of the records; without offsets until {#written}
      def receipts
        @receipts ||= @order.map { |columns| Receipt.new(columns.partition) }
      end

      # @param places [Array<Array(Integer, Integer)>] offset and time of each batch
      # @return [Array<Receipt>] of all records
      def written(places)
        all.zip(places) { |columns, place| columns.place(*place) }
        return @order.map(&:receipt) unless @receipts
        @receipts.zip(@order) { |receipt, columns| columns.fill(receipt) }
        @receipts
      end

      private

      def all = @all ||= @order.uniq

      def pairs(headers)
        headers.map do |name, value|
          next [name, value] if name.is_a?(String) && (value.nil? || value.is_a?(String))
          raise Godwit::Errors.bad_value(:produce, "headers:",
            "pairs of a String and a String or nil", [name, value])
        end
      end

      def check(bytes, key, headers)
        if bytes && bytes.bytesize > Client::MAX_VALUE
          too_large("the value", bytes.bytesize, Client::MAX_VALUE)
        end
        return if key.nil? && headers.nil?
        unless key.nil? || key.is_a?(String)
          raise Godwit::Errors.bad_value(:produce, "key:", "a String or nil", key)
        end
        size = [key, *headers&.flatten].sum { |text| text ? text.bytesize : 0 }
        too_large("the key with the headers", size, Client::MAX_KEY) if size > Client::MAX_KEY
      end

      def too_large(what, size, most)
        raise FormatError, "#{what} has #{size} bytes, and may have #{most}: store it elsewhere, " \
          "and send its place"
      end
    end
  end
end
