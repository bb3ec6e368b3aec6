# frozen_string_literal: true

require "io/nonblock"

module Godwit
  module Shell
    # Splits the output of a pipe into rows. Never waits, and never calls a fiber scheduler.
    # @private
    class Rows
      # Indexes in @progress: the offset of the next row in the buffer, the number of rows, whether
      # the rows were closed, and the String that every row reuses. An Array is faster in C than a
      # Struct; ext/godwit/shell_rows.c has the same indexes.
      START, COUNT, CLOSED, REUSED = 0, 1, 2, 3

      attr_reader :bytes

      # @param separator [String, nil] nil: the bytes of each read are a row
      # @param long [Symbol] :raise, :split or :cut: what becomes of rows above the limit
      def initialize(io, separator, limit, long, chomp, encoding, reuse)
        @io = io
        @separator = separator
        @limit = limit
        @long = long
        @chomp = chomp
        @encoding = encoding
        @buffer = String.new(encoding: Encoding::BINARY)
        @scanned = @bytes = 0 # no separator begins in the buffer before @scanned
        @progress = [0, 0, false, (String.new(encoding: encoding) if reuse)]
        io.nonblock = true if BACKEND == :native
        @lock = Mutex.new # prevents a read after the close: another file may have the descriptor
      end

      def rows = @progress[COUNT]

      # Reads at most once, and yields all complete rows. The block may raise or call {#close}.
      # @param deadline [Integer] ms on the monotonic clock; -1: none
      # @return [Symbol] :more (bytes may be readable), :wait (no byte is readable now), :ended,
      #   :late (the deadline has passed), :too_long (a row is above the limit)
      def read(deadline, &block)
        read_once = false
        until (late = split(deadline, &block)) || @progress[CLOSED]
          row = next_row
          if row.is_a?(String)
            @progress[COUNT] += 1
            yield finished(row)
            return :late if past?(deadline)
            next
          end
          return row unless row == :wait
          return :more if read_once
          return row if (row = fill) != :more
          read_once = true
        end
        late ? :late : :ended
      end

      def close = @lock.synchronize { @progress[CLOSED] = true }

      private

      # The extension yields the rows whose ends are in the buffer, up to a row above the limit.
      # @return [Boolean, nil] whether the deadline has passed
      def split(deadline, &block)
        return if BACKEND != :native || @separator.nil? || @dropping
        Primitives.split_rows(@progress, @buffer, @scanned, @separator, @limit, @chomp,
          @encoding, deadline, &block)
      end

      def past?(deadline)
        return false if deadline < 0
        Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) >= deadline
      end

      # @return [String, Symbol] a row; :wait: more has to be read; :ended; :too_long
      def next_row
        return chunk unless @separator
        start = @progress[START]
        found = @buffer.index(@separator, [@scanned, start].max)
        known = found || @buffer.bytesize
        overlap = (found || @over) ? 0 : @separator.bytesize - 1
        @scanned = [known - overlap, start].max
        if @dropping
          @progress[START] = @scanned = found ? known + @separator.bytesize : @scanned
          @dropping = !found && !@over
          return next_row if found
          return @over ? :ended : :wait
        end
        carriage = carriage_before(known, found)
        return too_long if known - start - overlap - carriage > @limit
        return row_until(known, carriage, known + @separator.bytesize) if found
        return :wait unless @over
        (known > start) ? row_until(known, 0, known) : :ended
      end

      # @return [Integer] 1: the last byte is a "\r", perhaps a piece of the row's end; else 0
      def carriage_before(known, found)
        return 0 if @separator != "\n" || !@chomp || (@over && !found)
        (known > @progress[START] && @buffer.getbyte(known - 1) == 13) ? 1 : 0
      end

      def row_until(known, carriage, following)
        from = @progress[START]
        @progress[START] = @scanned = following
        @buffer.byteslice(from, (@chomp ? known - carriage : following) - from)
      end

      def too_long
        return :too_long if @long == :raise
        @dropping = @long == :cut
        take(whole(@limit))
      end

      def chunk
        remaining = @buffer.bytesize - @progress[START]
        return @over ? :ended : :wait if remaining.zero?
        size = @over ? remaining : whole(remaining)
        size = whole(@limit) if size > @limit
        return :wait if size == remaining && !@over && beginning_only?(remaining)
        take(size)
      end

      def take(size)
        @progress[START] += size
        @buffer.byteslice(@progress[START] - size, size)
      end

      # @return [Integer] at most `size` bytes, so that the last character is whole
      def whole(size)
        return size unless @encoding == Encoding::UTF_8
        (1..[3, size].min).each do |back|
          byte = @buffer.getbyte(@progress[START] + size - back)
          next if byte & 0xc0 == 0x80
          return (needed(byte) > back && size > back) ? size - back : size
        end
        size
      end

      def beginning_only?(size)
        first = @buffer.getbyte(@progress[START])
        @encoding == Encoding::UTF_8 && size <= 3 && needed(first) > size
      end

      # @return [Integer] bytes of the UTF-8 character that begins with this byte
      def needed(byte) = 1 + [0xc0, 0xe0, 0xf0].count { |first| byte >= first }

      def finished(row)
        reused = @progress[REUSED]
        return row.force_encoding(@encoding) unless reused
        reused = @progress[REUSED] = +"" if reused.frozen?
        reused.replace(row).force_encoding(@encoding)
      end

      def fill
        @lock.synchronize do
          return :ended if @over || @progress[CLOSED]
          got = Primitives.append_bytes(@io, @buffer, @progress[START])
          @scanned = [@scanned - @progress[START], 0].max
          @progress[START] = 0
          return :wait unless got
          @bytes += got
          @over = got.zero?
          :more
        end
      end
    end
    private_constant :Rows
  end
end
