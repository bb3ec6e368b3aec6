# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Wraps a {Sink} and records, in app.log.journal beside app.log, the size of app.log and the
    # last sequence number (seq) of each durable writer in app.log. Entries are [u32 length, u32
    # CRC-32, content]; one is appended after each write to app.log, before any acknowledgement.
    #
    # A start truncates app.log to the size in the last entry: later durable records were not
    # acknowledged, and are sent again. Records of other writers get entries too, so that they stay.
    class Journal
      COMPACT = 1 << 20 # bytes of the journal after which it is rewritten as one entry
      FORM = "Q>Q>nNN" # packs a Sink::FileEnd and the entry's number of writers
      FORM_BYTES = 26
      ID_BYTES = LoggerConstants::ID_BYTES
      WRITER_BYTES = ID_BYTES + 8 # bytes of a writer's id and seq
      WRITERS = 50_000 # most writers in the journal; one more replaces the longest silent writer
      # A record of a durable writer: the writer's id in bytes, its seq, a Record.
      Entry = Struct.new(:writer, :seq, :record)

      def initialize(sink, compact: COMPACT)
        wanted = "one of a regular file"
        raise Errors.bad_value(:journal, "the sink", wanted, sink.path) unless sink.regular?
        @sink = sink
        @path = "#{sink.path}.journal"
        @compact = compact
        @lock = Mutex.new
        @last_sequences = {} # the last seq of each writer; the writer of the newest record is last
        @file = open_file(@path)
        file_end = read
        @cut = file_end ? restore(file_end) : 0
        rewrite
        sink.journal = self
      rescue
        @file&.close
        raise
      end

      attr_reader :cut
      attr_reader :sink
      def path = @sink.path
      def last(writer) = @lock.synchronize { @last_sequences[writer] }

      # @param seq [Integer] up to which some receiver has acknowledged the writer's records
      def handshake(writer, seq)
        @lock.synchronize { note(writer, [seq, @last_sequences[writer] || 0].max) }
      end

      # Writes records of writers that are not durable.
      def write(records)
        @lock.synchronize { @sink.write(records) { |_| add_entry({}) } }
        self
      end

      # Writes records of durable writers. Once this method returns, the records may be
      # acknowledged. If it raises, {#last} tells which records are in the file.
      # @param entries [Array<Entry>] not yet in the file; each writer's entries ascend by seq
      def write_durable(entries)
        @lock.synchronize do
          written = 0
          @sink.write(entries.map(&:record)) do |count|
            changed = entries[written...count].to_h { |entry| [entry.writer, entry.seq] }
            add_entry(changed)
            changed.each { |writer, seq| note(writer, seq) }
            written = count
          end
        end
      end

      def reopen
        @sink.reopen
        self
      end

      # Closes the sink, which closes the journal.
      def close = @sink.close
      # Closes the journal, so that another process can open it.
      def release = @lock.synchronize { @file = @file&.close }
      def closed? = @file.nil?

      private

      def note(writer, seq)
        @last_sequences.delete(writer) # moves the writer to the Hash's end
        @last_sequences[writer] = seq
        @last_sequences.shift if @last_sequences.size > WRITERS
        seq
      end

      def open_file(path)
        file = File.open(path, File::RDWR | File::APPEND | File::CREAT | File::BINARY, 0o600)
        locked = file.flock(File::LOCK_EX | File::LOCK_NB)
        return file if locked && File.stat(path).ino == file.stat.ino
        file.close
        raise Errors.build(BusyError, :open, path, "another process keeps it")
      rescue SystemCallError => error
        raise if error.is_a?(Error)
        raise Errors.build(error.errno, :open, path)
      end

      # @return [Sink::FileEnd, nil] the file's end as the last whole entry states it
      def read
        bytes = @file.binmode.read
        file_end = nil
        offset = 0
        while (content = whole(bytes, offset))
          *file_end, count = content.unpack(FORM)
          count.times do |index|
            start = FORM_BYTES + WRITER_BYTES * index
            writer = content.byteslice(start, ID_BYTES)
            note(writer, content.unpack1("Q>", offset: start + ID_BYTES))
          end
          offset += 8 + content.bytesize
        end
        Sink::FileEnd.new(*file_end) if file_end
      end

      def whole(bytes, offset)
        return if offset + 8 > bytes.bytesize
        length, crc = bytes.unpack("NN", offset: offset)
        content = bytes.byteslice(offset + 8, length)
        content if content.bytesize == length && Zlib.crc32(content) == crc
      end

      def restore(file_end)
        path = find(file_end.inode) or return 0
        size = File.size(path)
        return 0 if size <= file_end.size
        # If the checksum differs, this is a new file that got the old file's inode.
        return 0 unless same_end?(path, file_end)
        File.truncate(path, file_end.size)
        size - file_end.size
      end

      def same_end?(path, file_end)
        length = file_end.checked
        return true if length.zero?
        Zlib.crc32(File.binread(path, length, file_end.size - length)) == file_end.crc
      end

      # @return [String, nil] the file's path; rotation may have renamed it after the last entry
      def find(inode)
        folder, start = File.split(@sink.path)
        names = Dir.children(folder).select { |name| name.start_with?(start) }
        names.map { |name| File.join(folder, name) }.find { |path| Files.inode(path) == inode }
      end

      def entry(sequences)
        content = [*@sink.file_end, sequences.size].pack(FORM)
        sequences.each { |writer, seq| content << writer << [seq].pack("Q>") }
        [content.bytesize, Zlib.crc32(content)].pack("NN") << content
      end

      def add_entry(changed)
        return if (@bytes.nil? || @bytes > @compact) && rewritten?(changed)
        put(@file, entry(changed), @bytes)
      rescue SystemCallError => error
        raise if error.is_a?(Error)
        raise Errors.build(error.errno, :write, @path)
      end

      # A full disk may have no room to rewrite the journal, but room for another entry.
      def rewritten?(changed)
        rewrite(changed)
        true
      rescue SystemCallError
        @bytes.nil? ? raise : false
      end

      # Appends an entry. Readers stop at an incomplete entry: so after a failed write this method
      # truncates the journal, or, if that fails too, the next entry rewrites it.
      def put(file, bytes, before)
        Files.append(file, bytes, fsync: @sink.fsync) do
          @bytes = nil unless Files.truncate(file, before)
        end
        @bytes = before + bytes.bytesize
      end

      def rewrite(changed = {})
        mode = File::RDWR | File::APPEND | File::CREAT | File::TRUNC | File::BINARY
        fresh = File.open("#{@path}.new", mode, 0o600)
        fresh.flock(File::LOCK_EX | File::LOCK_NB)
        before = @bytes
        put(fresh, entry(@last_sequences.merge(changed)), 0)
        File.rename(fresh.path, @path)
        Files.sync(File.dirname(@path)) if @sink.fsync
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
