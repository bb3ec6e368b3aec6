# frozen_string_literal: true

module Godwit
  module Work
    # How far a group is in a partition: the watermark, below which all records are finished, the
    # records beyond it that are finished, and the attempts of those that failed. Its bytes go into
    # each commit, so a record that is finished never runs again.
    #
    # **Threads**: one at a time.
    # @private
    class Progress
      LIMIT = 4_000 # bytes; Kafka takes 4,096
      # The most bytes that one more record can add: a range of finished records, or its attempts.
      ENTRY = 12
      # How far the size may be from the true one, which takes a look at the whole window.
      DRIFT = LIMIT / 4
      FINISHED = 1
      RUN = /\x01+/n
      private_constant :ENTRY, :DRIFT, :FINISHED, :RUN

      # @param watermark [Integer] offset
      # @param bytes [String, nil] of {#dump}
      def initialize(watermark, bytes = nil)
        @watermark = watermark
        # A byte for each offset from the watermark on.
        @window = String.new(encoding: Encoding::BINARY)
        @attempts = {}
        exact(0)
        load(bytes) if bytes && !bytes.empty?
      end

      # @param offsets [Array<Integer>]
      # @return [Progress] a copy with these records finished
      def with(offsets)
        bytes = dump
        Progress.new(@watermark, bytes).tap { |copy| offsets.each { |one| copy.finish(one) } }
      end

      # @return [Integer] the offset of the first record that is not finished
      def watermark
        advance
        @watermark
      end

      # @return [Integer] records that are finished, those before the first offset included
      def count = watermark + @window.count("\x01")

      # @return [Boolean]
      def finished?(offset)
        offset < @watermark || @window.getbyte(offset - @watermark) == FINISHED
      end

      # @param offset [Integer] of a record that needs no more attempts
      def finish(offset)
        at = offset - @watermark
        return if at < 0
        @window << "\0" * (at + 1 - @window.bytesize) if at >= @window.bytesize
        @window.setbyte(at, FINISHED)
        @attempts.delete(offset)
        @size += ENTRY
      end

      # @return [Integer] attempts of the record that failed, this one included
      def fail(offset)
        @size += ENTRY
        @attempts[offset] = attempts(offset) + 1
      end

      # @return [Integer] attempts of the record that failed so far
      def attempts(offset) = @attempts.fetch(offset, 0)

      # @return [Integer] records that may run until the next dump, without that it gets too large
      def room
        dump if @size - @exact > DRIFT || (@size > LIMIT - ENTRY && @size > @exact)
        [(LIMIT - @size) / ENTRY, 0].max
      end

      # @return [String] at most LIMIT bytes, if no more than {#room} records ran since
      def dump
        advance
        ranges = []
        before = at = 0
        while (at = @window.index(RUN, at))
          length = $~.end(0) - at
          ranges << at - before << length
          before = at += length
        end
        failed = @attempts.sort.flat_map { |offset, count| [offset - @watermark, count] }
        [ranges.size / 2, *ranges, *failed].pack("w*").tap { |bytes| exact(bytes.bytesize) }
      end

      private

      # From now on the size is an upper bound.
      def exact(size) = @exact = @size = size

      def advance
        return unless @window.getbyte(0) == FINISHED
        count = @window.index("\0") || @window.bytesize
        @watermark += count
        @window = @window.byteslice(count, @window.bytesize)
      end

      def load(bytes)
        count, *rest = bytes.unpack("w*")
        at = @watermark
        rest.shift(2 * count).each_slice(2) do |gap, length|
          at += gap
          length.times { |index| finish(at + index) }
          at += length
        end
        @attempts = rest.each_slice(2).to_h { |ahead, failed| [@watermark + ahead, failed] }
        exact(bytes.bytesize)
      end
    end
  end
end
