# frozen_string_literal: true

require_relative "../sink"
require_relative "last_sequence"

module Godwit
  class Logger < ::Logger
    # A {Sink} that knows, after a crash, what is in its file: up to which offset, and of each
    # durable writer up to which seq. Beside app.log stands app.log.journal: entries [u32 length,
    # u32 CRC-32, content], appended after each write to the file and before anything is
    # acknowledged. At the start the file is cut where the last entry says; what was written after
    # that was not acknowledged, and comes again.
    #
    # All that goes into the file goes through here, also what is not durable: else the cut would
    # take it.
    # @private
    class Journal
      # Bytes after which it is written anew, with what counts.
      COMPACT = 1 << 20
      PLACE = "Q>Q>nNN" # inode, size, bytes checked, their CRC-32, writers
      PLACE_BYTES = 26
      WRITER_BYTES = 24 # id, seq

      # @param sink [Sink]
      # @raise [BusyError] when another process has the journal
      def initialize(sink, compact: COMPACT)
        unless sink.regular?
          raise Errors.bad_value(:journal, "the sink", "one of a regular file", sink.path)
        end
        @sink = sink
        @path = "#{sink.path}.journal"
        @compact = compact
        @lock = Mutex.new
        @lasts = LastSequence.new
        @file = open_file(@path)
        place = read
        @cut = place ? restore(*place) : 0
        rewrite(sink.place)
        sink.journal = self
      rescue
        @file&.close
        raise
      end

      # @return [Integer] bytes that were cut off at the start
      attr_reader :cut
      # @return [Sink]
      attr_reader :sink

      # @return [String] of the file
      def path = @sink.path

      # @param writer [String] 16 bytes
      # @return [Integer, nil] seq of its last record in the file
      def last(writer) = @lock.synchronize { @lasts[writer] }

      # A writer says up to where it has been acknowledged, maybe by another receiver.
      # @return [Integer] seq of its last record, as far as is known
      def greet(writer, seq)
        @lock.synchronize do
          @lasts[writer] = [seq, @lasts[writer] || 0].max
        end
      end

      # Writes records of writers that are not durable; others come by {#write_durable}, and once
      # more here when they were handed on to a broadcaster.
      # @param records [Array<Record>]
      # @return [self]
      # @raise [Error] as {Sink#write}
      def write(records)
        @lock.synchronize do
          records = records.reject { |record| durable?(record) } unless @lasts.empty?
          @sink.write(records) { |_| note({}) } unless records.empty?
        end
        self
      end

      # Once it returns they may be acknowledged. If it raises, {#last} tells how far it came.
      # @param entries [Array<Array(String, Integer, Record)>] writer, seq, record; of one writer in
      #   order, and none that is there
      # @raise [Error] as {Sink#write}
      def write_durable(entries)
        @lock.synchronize do
          noted = 0
          @sink.write(entries.map(&:last)) do |count|
            changed = entries[noted...count].to_h { |writer, seq, _| [writer, seq] }
            note(changed)
            changed.each { |writer, seq| @lasts[writer] = seq }
            noted = count
          end
        end
      end

      def reopen
        @sink.reopen
        self
      end

      # Closes the sink too.
      def close = @sink.close

      # Another may have the journal from now on. The sink is closed, or gets nothing more through
      # here.
      def release
        @lock.synchronize do
          @file&.close
          @file = nil
        end
      end

      def closed? = @file.nil?

      private

      def durable?(record)
        return false if record.plain?
        id = record.writer
        id ? @lasts.known?([id].pack("H*")) : false
      end

      def open_file(path)
        file = File.open(path, File::RDWR | File::APPEND | File::CREAT | File::BINARY, 0o600)
        if file.flock(File::LOCK_EX | File::LOCK_NB) && File.stat(path).ino == file.stat.ino
          return file
        end
        file.close
        raise Errors.build(BusyError, :open, path, "another process keeps it")
      rescue SystemCallError => error
        raise if error.is_a?(Error)
        raise Errors.build(error.errno, :open, path)
      end

      # @return [Array<Integer>, nil] inode, size, bytes checked, CRC-32: of the last whole entry
      def read
        bytes = @file.binmode.read
        place = nil
        offset = 0
        while (content = whole(bytes, offset))
          *place, count = content.unpack(PLACE)
          count.times do |index|
            start = PLACE_BYTES + WRITER_BYTES * index
            @lasts[content.byteslice(start, 16)] = content.unpack1("Q>", offset: start + 16)
          end
          offset += 8 + content.bytesize
        end
        place
      end

      def whole(bytes, offset)
        return if offset + 8 > bytes.bytesize
        length, crc = bytes.unpack("NN", offset: offset)
        content = bytes.byteslice(offset + 8, length)
        content if content.bytesize == length && Zlib.crc32(content) == crc
      end

      # The file that the last entry tells of may have another name by now, but only whole: it was
      # put away after an entry.
      # @return [Integer] bytes that were cut off
      def restore(inode, size, length, crc)
        path = find(inode) or return 0
        there = File.size(path)
        return 0 if there <= size
        # Another file with its inode.
        return 0 unless length.zero? || Zlib.crc32(File.binread(path, length, size - length)) == crc
        File.truncate(path, size)
        there - size
      end

      def find(inode)
        folder = File.dirname(@sink.path)
        start = File.basename(@sink.path)
        Dir
          .children(folder)
          .select { |name| name.start_with?(start) }
          .map { |name| File.join(folder, name) }
          .find { |name| Folder.inode(name) == inode }
      end

      def entry(place, lasts)
        content = (place + [lasts.size]).pack(PLACE)
        lasts.each { |writer, seq| content << writer << [seq].pack("Q>") }
        [content.bytesize, Zlib.crc32(content)].pack("NN") << content
      end

      def note(changed)
        return if (@bytes.nil? || @bytes > @compact) && renewed?(changed)
        put(@file, entry(@sink.place, changed), @bytes)
      rescue SystemCallError => error
        raise if error.is_a?(Error)
        raise Errors.build(error.errno, :write, @path)
      end

      # Where there is no room for a new one, the old one may do.
      def renewed?(changed)
        rewrite(@sink.place, changed)
        true
      rescue SystemCallError
        @bytes.nil? ? raise : false
      end

      # What follows a torn entry could not be read.
      def put(file, bytes, before)
        Append.write(file, bytes, fsync: @sink.fsync) do
          @bytes = nil unless Append.truncate(file, before) # it is written anew
        end
        @bytes = before + bytes.bytesize
      end

      def rewrite(place, changed = {})
        fresh =
          File.open(
            "#{@path}.new", File::RDWR | File::APPEND | File::CREAT | File::TRUNC | File::BINARY,
            0o600
          )
        fresh.flock(File::LOCK_EX | File::LOCK_NB)
        before = @bytes
        put(fresh, entry(place, @lasts.to_h.merge(changed)), 0)
        File.rename(fresh.path, @path)
        Folder.sync(File.dirname(@path)) if @sink.fsync
        @file.close
        @file = fresh
      rescue SystemCallError
        @bytes = before
        fresh&.close
        raise
      end
    end
    private_constant :Journal
  end
end
