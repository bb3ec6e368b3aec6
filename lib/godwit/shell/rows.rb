# frozen_string_literal: true

module Godwit
  module Shell
    # Splits the output of a pipe into rows, as ext/godwit/shell_rows.c does. It never waits and
    # never calls a fiber scheduler.
    # @private
    class Rows
      include ShellConstants

      attr_reader :bytes, :rows

      def open(io, separator, limit, longer, chomp, encoding, reuse)
        @io = io
        @separator = separator
        @limit = limit
        @longer = longer
        @chomp = chomp
        @carriage = separator == "\n"
        @encoding = encoding
        @reused = String.new(encoding: encoding) if reuse
        @buffer = String.new(encoding: Encoding::BINARY)
        @start = @scanned = @bytes = @rows = 0
        @lock = Mutex.new # prevents a read after the close: another file may have the descriptor
      end

      def read(deadline)
        read_once = false
        loop do
          return ROWS_ENDED if @closed
          row = next_row
          if row.is_a?(String)
            @rows += 1
            yield finished(row)
            return ROWS_LATE if past?(deadline)
            next
          end
          return row unless row == ROWS_WAIT
          return ROWS_MORE if read_once
          result = fill
          return result unless result == ROWS_MORE
          read_once = true
        end
      end

      def close = @lock.synchronize { @closed = true }

      private

      def past?(deadline)
        return false if deadline < 0
        Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) >= deadline
      end

      # @return [Integer, String] a row; ROWS_WAIT: more has to be read; ROWS_ENDED; ROWS_TOO_LONG
      def next_row
        return chunk unless @separator
        loop do
          found = @buffer.index(@separator, @scanned)
          known = found || @buffer.bytesize
          overlap = (found || @over) ? 0 : @separator.bytesize - 1
          @scanned = [known - overlap, @start].max
          if @dropping
            @start = @scanned = found ? known + @separator.bytesize : @scanned
            @dropping = !found && !@over
            next if found
            return @over ? ROWS_ENDED : ROWS_WAIT
          end
          carriage = carriage_before(known, found)
          return too_long if known - @start - overlap - carriage > @limit
          return row_until(known, carriage, known + @separator.bytesize) if found
          return ROWS_WAIT unless @over
          return (known > @start) ? row_until(known, 0, known) : ROWS_ENDED
        end
      end

      # @return [Integer] 1 for a "\r" that belongs to the row's end, or may belong to it
      def carriage_before(known, found)
        return 0 if @over && !found
        (@chomp && @carriage && known > @start && @buffer.getbyte(known - 1) == 13) ? 1 : 0
      end

      def row_until(known, carriage, following)
        from = @start
        @start = @scanned = following
        @buffer.byteslice(from, (@chomp ? known - carriage : following) - from)
      end

      def too_long
        return ROWS_TOO_LONG if @longer == LONG_RAISES
        row = @buffer.byteslice(@start, whole(@start, @limit))
        @start += row.bytesize
        @scanned = [@scanned, @start].max
        @dropping = @longer == LONG_IS_CUT
        row
      end

      def chunk
        remaining = @buffer.bytesize - @start
        return @over ? ROWS_ENDED : ROWS_WAIT if remaining.zero?
        size = @over ? remaining : whole(@start, remaining)
        size = whole(@start, @limit) if size > @limit
        return ROWS_WAIT if size == remaining && !@over && beginning_only?(remaining)
        @start += size
        @buffer.byteslice(@start - size, size)
      end

      # @return [Integer] at most `size` bytes, so that the last character is whole
      def whole(from, size)
        return size unless @encoding == Encoding::UTF_8
        (1..[3, size].min).each do |back|
          byte = @buffer.getbyte(from + size - back)
          next if byte & 0xc0 == 0x80
          return (needed(byte) > back && size > back) ? size - back : size
        end
        size
      end

      def beginning_only?(size)
        @encoding == Encoding::UTF_8 && size <= 3 && needed(@buffer.getbyte(@start)) > size
      end

      def needed(byte)
        return 1 if byte < 0xc0
        return 2 if byte < 0xe0
        (byte < 0xf0) ? 3 : 4
      end

      def finished(row)
        return row.force_encoding(@encoding) unless @reused
        @reused = +"" if @reused.frozen?
        @reused.replace(row).force_encoding(@encoding)
      end

      def fill
        @lock.synchronize do
          return ROWS_ENDED if @over || @closed
          @buffer = @buffer.byteslice(@start..)
          @scanned -= @start
          @start = 0
          got = @io.read_nonblock(PIPE_BYTES, exception: false)
          return ROWS_WAIT if got == :wait_readable
          if got
            @buffer << got
            @bytes += got.bytesize
          else
            @over = true
          end
          ROWS_MORE
        rescue Errno::EIO # the end of a terminal
          @over = true
          ROWS_MORE
        rescue SystemCallError => error
          @over = true
          raise Errors.build(error.errno, :rows)
        end
      end
    end
    private_constant :Rows
  end
end
