# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Records in numbered files of a folder, until they are released: append at the end, read from
    # anywhere. A file is deleted when all its records are released. An entry is [u32 length, u32
    # CRC-32 of the rest, u64 seq, record], big-endian; seq grows within a folder.
    #
    # Each file begins with an entry of seq 0: the last seq before the file, and the owner's
    # checkpoint for recovery after a crash. The last file always stays, for its checkpoint. The
    # next start truncates entries that a crash left incomplete, and then begins a new file.
    #
    # Any number of threads may append; only one may read. A Thread#kill waits until an entry is
    # complete. The owner holds the folder's {Lock}.
    class SegmentedLog
      HEADER = "NNQ>"
      HEADER_BYTES = 16
      LONGEST = 1 << 28 # most bytes of an entry; a greater length means that its bytes are damaged
      FILE = /\A\h{16}\.seg\z/

      # A file. prev: last seq before the file; last: last seq in it, or prev; size: its bytes.
      Segment = Struct.new(:number, :path, :prev, :last, :size)
      # Where an entry begins: the number of its file, and the offset there.
      Cursor = Struct.new(:number, :offset)
      # Bytes of whole entries, the seq of the last entry, and the cursor after it.
      Chunk = Struct.new(:entries, :last, :cursor)
      RELEASED = "released" # the file with the seq up to which all entries are released

      class << self
        def entry(seq, record)
          rest = [seq].pack("Q>") << record
          [record.bytesize, Zlib.crc32(rest)].pack("NN") << rest
        end

        # Yields seq and record of the whole entries at the beginning of a String.
        # @return [Integer] offset after the last whole entry
        def each_entry(bytes)
          offset = 0
          while (seq, finish = whole_entry(bytes, offset))
            yield seq, bytes.byteslice(offset + HEADER_BYTES, finish - offset - HEADER_BYTES)
            offset = finish
          end
          offset
        end

        def whole_entry(bytes, offset)
          return if offset + HEADER_BYTES > bytes.bytesize
          length, crc, seq = bytes.unpack(HEADER, offset: offset)
          finish = offset + HEADER_BYTES + length
          return if finish > bytes.bytesize
          [seq, finish] if Zlib.crc32(bytes.byteslice(offset + 8, length + 8)) == crc
        end
      end

      # @yield [seq, record] the last checkpoint as seq 0, then the entries after it
      def initialize(folder, segment_bytes: 4 << 20, fsync: false, checkpoint: -> { "" }, &block)
        @folder = folder
        @segment_bytes = segment_bytes
        @fsync = fsync
        @checkpoint = checkpoint
        @lock = Mutex.new
        @cut = @total = 0
        @released = read_released
        recover(block)
        @next = (@segments.last&.number || 0) + 1
      end

      attr_reader :cut # bytes removed as incomplete or damaged entries, after a crash or disk error
      def released = consistent { @released }
      def last = consistent { last_one }
      def bytes = consistent { @total }
      def empty? = consistent { last_one <= @released }

      # Appends entries with one write(2). After a SystemCallError none of them was appended.
      def append(entries, last)
        exclusive do
          roll if @file.nil? || @segments.last.size >= @segment_bytes
          put(entries, @segments.last)
          @segments.last.last = last
        end
      end

      # Returns the first file's checkpoint, or nil, and how many entries of this file are released.
      def released_in_first
        segment, released = @lock.synchronize { [@segments.first&.dup, @released] }
        count = 0
        checkpoint = nil
        SegmentedLog.each_entry(File.binread(segment.path, segment.size)) do |seq, record|
          checkpoint = record.byteslice(8..) if seq.zero?
          count += 1 if seq.positive? && seq <= released
        end
        [checkpoint, count]
      end

      # Marks entries up to this seq as no longer needed.
      def release(seq)
        exclusive do
          next if seq <= @released
          @released = seq
          drop_released
          write_released
        end
      end

      # @return [Cursor] of the first entry with a greater seq
      def after(seq)
        segment, newest = @lock.synchronize do
          [@segments.find { |one| one.last > seq }&.dup, @segments.last&.dup]
        end
        return Cursor.new(newest&.number || 0, newest&.size || 0) unless segment
        bytes = pread(segment, segment.size, 0)
        offset = 0
        while (number, stop = SegmentedLog.whole_entry(bytes, offset)) && number <= seq
          offset = stop
        end
        Cursor.new(segment.number, offset)
      end

      def read(cursor, most)
        loop do
          segment, newest = @lock.synchronize do
            [@segments.find { |one| one.number >= cursor.number }&.dup, @segments.last]
          end
          return unless segment
          offset = (segment.number == cursor.number) ? cursor.offset : 0
          chunk = slice(segment, offset, most)
          return chunk if chunk
          return if segment.number == newest.number
          cursor = Cursor.new(segment.number + 1, 0)
        end
      end

      # Later appends raise ClosedError. A second call does nothing.
      def close
        @lock.synchronize do
          close_files
          @closed = true
        end
      end

      # Closes the files without the lock: at a fork, a thread of the parent may have held it.
      def close_files
        [@file, @reader, @released_file].each { |file| file&.close }
        @file = @reader = @released_file = nil
      end

      private

      # Reads the files of an earlier process.
      def recover(block)
        @segments = Dir.children(@folder).grep(FILE).sort.map do |name|
          Segment.new(name.to_i(16), File.join(@folder, name), 0, 0, 0)
        end
        # A crash damages only the last file. If that file's checkpoint is damaged, the last whole
        # checkpoint is in the file before.
        full = [@segments.size - 1, 0].max
        full -= 1 while full.positive? && !checkpoint_of(@segments[full])
        @segments.each_with_index do |segment, index|
          next if index < full && measure(segment, @segments[index + 1])
          scan(segment, (block if index >= full))
        end
        # A segment that was truncated to 0 bytes has not even a checkpoint.
        drop(@segments.pop) while @segments.last&.size&.zero?
        @total = @segments.sum(&:size)
        drop_released if @segments.any? && checkpoint_of(@segments.last)
      end

      def checkpoint_of(segment)
        header = File.binread(segment.path, HEADER_BYTES).to_s
        return if header.bytesize < HEADER_BYTES || header.unpack1("N") > LONGEST
        bytes = File.binread(segment.path, HEADER_BYTES + header.unpack1("N"))
        seq, finish = SegmentedLog.whole_entry(bytes, 0)
        return unless seq&.zero? && finish >= HEADER_BYTES + 8
        [bytes.unpack1("Q>", offset: HEADER_BYTES), bytes.byteslice(HEADER_BYTES + 8...finish)]
      end

      # @return [Boolean] false if a checkpoint is damaged, so that the file must be read
      def measure(segment, following)
        segment.prev, = checkpoint_of(segment)
        segment.last, = checkpoint_of(following)
        segment.size = File.size(segment.path)
        !segment.prev.nil? && !segment.last.nil?
      end

      # Truncates the file at the first entry that is not whole.
      def scan(segment, block)
        bytes = File.binread(segment.path)
        segment.prev = segment.last = 0
        segment.size = SegmentedLog.each_entry(bytes) do |seq, record|
          if seq.zero?
            segment.prev = segment.last = record.unpack1("Q>")
            record = record.byteslice(8..)
          else
            segment.last = seq
          end
          block&.call(seq, record)
        end
        return if segment.size == bytes.bytesize
        @cut += bytes.bytesize - segment.size
        File.truncate(segment.path, segment.size)
      end

      def read_released
        seq, crc = File.binread(File.join(@folder, RELEASED)).unpack("Q>N")
        (seq && crc && Zlib.crc32([seq].pack("Q>")) == crc) ? seq : 0
      rescue Errno::ENOENT
        0
      end

      def write_released
        flags = File::RDWR | File::CREAT | File::BINARY
        @released_file ||= File.open(File.join(@folder, RELEASED), flags, 0o600)
        seq = [@released].pack("Q>")
        @released_file.pwrite(seq << [Zlib.crc32(seq)].pack("N"), 0)
      rescue SystemCallError
        nil # without this file the writer sends some records twice
      end

      # Runs the block with the lock; in a trap handler, which cannot lock a mutex, without it.
      def consistent(&block)
        @lock.synchronize(&block)
      rescue ThreadError
        yield
      end

      # Thread#kill and Thread#raise wait for the end of the block.
      def exclusive(&block)
        Thread.handle_interrupt(Object => :never) { @lock.synchronize(&block) }
      end

      def last_one = [@segments.last&.last || 0, @released].max

      def roll
        raise Errors.build(ClosedError, :append, @folder) if @closed
        path = File.join(@folder, format("%016x.seg", @next))
        flags = File::WRONLY | File::APPEND | File::CREAT | File::TRUNC | File::BINARY
        file = File.open(path, flags, 0o600)
        segment = Segment.new(@next, path, last_one, last_one, 0)
        @next += 1 # a number is never used again, even if the new file cannot be written
        old, @file = @file, file
        put(SegmentedLog.entry(0, [segment.prev].pack("Q>") << @checkpoint.call), segment)
        Files.sync(@folder) if @fsync
        @segments << segment
        old&.close
        drop_released
      rescue SystemCallError
        file&.close
        @file = old
        @total -= segment.size if segment
        File.unlink(path) if file
        raise
      end

      def put(bytes, segment)
        Files.append(@file, bytes, fsync: @fsync) do
          # A reader stops at an incomplete entry. If its bytes cannot be truncated, the next entry
          # needs a new file.
          @file = @file.close unless Files.truncate(@file, segment.size)
        end
        segment.size += bytes.bytesize
        @total += bytes.bytesize
      end

      def drop_released
        while @segments.size > 1 && @segments.first.last <= @released
          drop(@segments.first)
          @total -= @segments.shift.size
        end
      end

      def drop(segment)
        File.unlink(segment.path)
      rescue SystemCallError
        nil # the next start deletes the file
      end

      def slice(segment, offset, most)
        return if offset >= segment.size
        bytes = pread(segment, [most, segment.size - offset].min, offset)
        first = nil
        last = stop = 0
        while (seq, finish = SegmentedLog.whole_entry(bytes, stop))
          first ||= stop unless seq.zero?
          last = seq
          stop = finish
        end
        cursor = Cursor.new(segment.number, offset + stop)
        return Chunk.new(bytes.byteslice(first...stop), last, cursor) if first
        # The bytes have only a checkpoint: read the entries after it.
        return slice(segment, offset + stop, most) if stop.positive?
        # The next entry is larger than `most`, or damaged.
        length = HEADER_BYTES + (bytes.unpack1("N") || 0)
        larger = length > bytes.bytesize && offset + length <= segment.size
        (slice(segment, offset, length) if larger) || give_up(segment, offset)
      end

      # Skips the rest of a file, whose bytes are damaged. Later entries go to a new file.
      def give_up(segment, offset)
        last = segment.prev
        SegmentedLog.each_entry(pread(segment, offset, 0)) { |seq, _| last = seq unless seq.zero? }
        @lock.synchronize do
          mine = @segments.find { |one| one.number == segment.number } or next
          @cut += mine.size - offset
          @total -= mine.size - offset
          mine.size = offset
          mine.last = last
          @file = @file&.close if mine.equal?(@segments.last)
        end
        nil
      end

      def pread(segment, length, offset)
        unless @reader && @reading == segment.number
          @reader&.close
          @reader = File.open(segment.path, "rb")
          @reading = segment.number
        end
        length.zero? ? "".b : @reader.pread(length, offset)
      end
    end
    private_constant :SegmentedLog
  end
end
