# frozen_string_literal: true

module Godwit
  module Work
    # A group's progress in a partition: the watermark, below which all records are finished; the
    # finished records beyond the watermark; and the attempts of failed records. Each commit stores
    # the progress, so a finished record never runs again.
    #
    # **Threads**: one at a time.
    # @private
    class Progress
      LIMIT = 3_000 # most bytes of a dump: Base64 makes 4,000, and a commit's text may have 4,096
      FINISHED = 1

      # @param watermark [Integer] the offset of the first unfinished record
      # @param bytes [String, nil] a {#dump}
      def initialize(watermark, bytes = nil)
        @watermark = watermark
        # The window has a byte for each offset from the watermark on.
        @window = String.new(encoding: Encoding::BINARY)
        @ranges = 0 # the number of ranges of finished records in the window
        @attempts = {}
        @most = 1 # the most attempts of any record
        load(bytes) if bytes && !bytes.empty?
      end

      # @param offsets [Array<Integer>]
      # @return [Progress] a copy with these records finished
      def with(offsets) = dup.tap { |copy| offsets.each { |one| copy.finish(one) } }

      # @return [Integer] the offset of the first record that is not finished
      def watermark
        advance
        @watermark
      end

      # @return [Integer] number of finished records, including all records below the watermark
      def count = watermark + @window.count("\x01")

      def finished?(offset)
        offset < @watermark || @window.getbyte(offset - @watermark) == FINISHED
      end

      # @param offset [Integer] of the first record that needs no more attempts
      # @param count [Integer] number of such records, whose offsets follow each other
      def finish(offset, count = 1)
        at = offset - @watermark
        return drop(count) if at.zero? && count > @window.bytesize
        count.times { |index| @attempts.delete(offset + index) } unless @attempts.empty?
        mark([at, 0].max, at + count)
      end

      # @return [Integer] attempts of the record that failed, this one included
      def fail(offset)
        count = @attempts[offset] = attempts(offset) + 1
        @most = count if count > @most
        count
      end

      # @return [Integer] failed attempts of the record so far
      def attempts(offset) = @attempts.fetch(offset, 0)

      # @return [Boolean] whether no record beyond the watermark is finished
      def in_order? = @window.empty?

      # @return [Boolean] whether a record that has failed is still unfinished
      def failures? = !@attempts.empty?

      # @param finish [Integer] an offset above those of all records that may run
      # @return [Integer] number of records that may run before the next dump, so that the dump has
      #   at most LIMIT bytes
      def room(finish)
        width = width([finish - @watermark, 1].max)
        range = 2 * width
        attempts = width + width(@most + 1)
        used = 3 + range * @ranges + attempts * @attempts.size
        [(LIMIT - used) / [range, attempts].max, 0].max
      end

      # @return [String] at most LIMIT bytes, if at most {#room} records ran since the last dump
      def dump
        advance
        ranges = []
        before = at = 0
        while (at = @window.index("\x01", at))
          length = (@window.index("\0", at) || @window.bytesize) - at
          ranges << at - before << length
          before = at += length
        end
        failed = @attempts.sort.flat_map { |offset, count| [offset - @watermark, count] }
        [ranges.size / 2, *ranges, *failed].pack("w*")
      end

      private

      def initialize_copy(other)
        super
        @window = @window.dup
        @attempts = @attempts.dup
      end

      # Moves the watermark by `count`, beyond the window: all records of the window are finished,
      # or retention has deleted them.
      def drop(count)
        @watermark += count
        @window.clear
        @ranges = 0
        @attempts.reject! { |offset, _| offset < @watermark } if failures?
      end

      # Marks records as finished. Each one begins a range, extends a range, or joins two ranges.
      def mark(at, finish)
        @window << "\0" * (finish - @window.bytesize) if finish > @window.bytesize
        while at < finish
          if @window.getbyte(at) != FINISHED
            @ranges += 1
            @ranges -= 1 if at > 0 && @window.getbyte(at - 1) == FINISHED
            @ranges -= 1 if @window.getbyte(at + 1) == FINISHED
            @window.setbyte(at, FINISHED)
          end
          at += 1
        end
      end

      # @return [Integer] bytes that this number needs in a dump; a smaller number needs no more
      def width(number) = (number.bit_length + 6) / 7

      def advance
        return unless @window.getbyte(0) == FINISHED
        count = @window.index("\0") || @window.bytesize
        @watermark += count
        @window = @window.byteslice(count, @window.bytesize)
        @ranges -= 1
      end

      def load(bytes)
        @ranges, *rest = bytes.unpack("w*")
        rest.shift(2 * @ranges).each_slice(2) do |gap, length|
          @window << "\0" * gap << "\x01" * length
        end
        @attempts = rest.each_slice(2).to_h { |ahead, failed| [@watermark + ahead, failed] }
        @most = @attempts.each_value.max || 1
      end
    end
  end
end
