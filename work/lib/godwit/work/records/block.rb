# frozen_string_literal: true

module Godwit
  module Work
    # Consecutive records of a partition, as bytes: the count, the flags, the lengths, then all
    # values, all keys, all headers. A length of -1 stands for nil. A reader can get a record from
    # the middle without decoding the other records.
    # @private
    class Block
      KEYS = 1 # flag: the records have keys
      HEADERS = 2 # flag: the records have headers
      HEAD = "VC" # the format by which Array#pack packs the count and the flags
      LENGTHS = 5 # index in the block's bytes at which the lengths of the entries begin
      NONE = -1

      # The values, the keys or the headers of a block.
      class Column
        # @param bytes [String] of the block
        # @param lengths [Array<Integer>] bytes of each entry; NONE for nil
        def initialize(bytes, lengths)
          @bytes = bytes
          @lengths = lengths
        end

        # @param at [Integer] index at which the bytes of the column begin
        # @return [Integer] index at which the next column begins
        def begin(at)
          @begin = at
          at + @lengths.sum + @lengths.count(NONE)
        end

        # @return [String, nil] the bytes of an entry; nil for a length of NONE
        def [](index)
          @starts ||= starts
          @bytes.byteslice(@starts[index], @lengths[index])
        end

        private

        # The indexes at which the entries begin. The first use computes the indexes, since many
        # readers never read the keys.
        def starts
          at = @begin
          @lengths.map do |length|
            start = at
            at += length if length > 0
            start
          end
        end
      end

      class << self
        # @param values [Array<String, nil>] the value of each record
        # @param keys [Array<String, nil>, nil] nil: no record has a key
        # @param headers [Array<Array, nil>, nil] pairs of each record; nil: no record has headers
        # @return [String] the bytes of the block
        def encode(values, keys = nil, headers = nil)
          headers = headers&.map { |pairs| encode_headers(pairs) }
          columns = [values, keys, headers].compact
          flags = (keys ? KEYS : 0) | (headers ? HEADERS : 0)
          bytes = [values.size, flags].pack(HEAD)
          columns.each { |column| bytes << lengths(column) }
          columns.each { |column| bytes << joined(column) }
          bytes
        end

        private

        def lengths(column) = column.map { |bytes| bytes ? bytes.bytesize : NONE }.pack("l<*")

        # Joins Strings, as binary Strings if Ruby refuses to join their encodings.
        def joined(column)
          column.join.force_encoding(Encoding::BINARY)
        rescue EncodingError
          column.map { |bytes| bytes.to_s.b }.join
        end

        def encode_headers(pairs)
          return if pairs.nil? || pairs.empty?
          pairs.map { |name, value|
            [name.bytesize, value&.bytesize || NONE].pack("l<l<") << name.b << value.to_s.b
          }.join
        end
      end

      # @param offset [Integer] of the first record
      # @param time [Integer] of the records, in milliseconds since 1970
      # @param at [Integer] index at which {encode}'s bytes begin
      def initialize(bytes, offset, time, at = 0)
        @bytes = bytes
        @offset = offset
        @time = time
        @count, flags = bytes.unpack(HEAD, offset: at)
        @values, at = column(at + LENGTHS)
        @keys, at = column(at) if flags.anybits?(KEYS)
        @headers, at = column(at) if flags.anybits?(HEADERS)
        [@values, @keys, @headers].each { |column| at = column.begin(at) if column }
      end

      # @return [Integer] offset of the first record; each later record has the next offset
      attr_reader :offset
      # @return [Boolean] whether unread records before this block were deleted
      attr_accessor :behind_gap

      # @return [Integer] the time of a record, in milliseconds since 1970
      def time(_index) = @time

      # @return [Integer] offset that follows the last record
      def finish = @offset + @count

      # @return [Integer] number of records
      attr_reader :count

      # @return [Column] the value of each record, a String or nil
      attr_reader :values
      # @return [Column, nil] the key of each record, a String or nil; nil: no record has a key
      attr_reader :keys

      # @return [Array<Array(String, String)>] pairs of name and value; a value may be nil
      def headers(index)
        found = @headers&.[](index) or return []
        pairs, at = [], 0
        while at < found.bytesize
          name, value = found.unpack("l<l<", offset: at)
          at += 8
          pairs << [found.byteslice(at, name).force_encoding(Encoding::UTF_8),
            found.byteslice(at + name, value)] # for the length NONE, byteslice gives nil
          at += name + [value, 0].max
        end
        pairs
      end

      def bytesize = @bytes.bytesize

      def inspect = "#<#{self.class} offset #{@offset}, #{@count} records>"

      # @return [Boolean] whether a record has headers
      def headers? = !@headers.nil?

      private

      # @return [Array(Column, Integer)] a column, and the index that follows its lengths
      def column(at)
        [Column.new(@bytes, @bytes.unpack("l<#{@count}", offset: at)), at + 4 * @count]
      end
    end
  end
end
