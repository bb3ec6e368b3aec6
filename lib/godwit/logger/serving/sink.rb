# frozen_string_literal: true

require_relative "rotation"

module Godwit
  class Logger < ::Logger
    # Appends records to a file in the format of Ruby's Logger, as `godwit log serve --file` does.
    #
    #   sink = Godwit::Logger::Sink.new("app.log", rotate: :daily, keep: 14, gzip: true)
    #   reader.each_slice(256) { |records| sink.write(records) }
    #
    # Lines are whole: if the disk is full in mid-line, the file is truncated to the line's
    # beginning and the call raises. A newline within a record stays, as in Ruby's Logger. The file
    # does not begin with a "Logfile created" line: each line is a record.
    #
    # The file is locked (`flock`), so that only one process writes to it. A path that is no regular
    # file (a FIFO, /dev/stdout) is never rotated.
    #
    # **Threads**: any number may write; the records of one call stay together. A kill or `Timeout`
    # waits until the last line is complete. **Fork**: the child must open a sink of its own.
    class Sink
      extend Keywords

      # @private
      # Identifies the end of a file: inode and size; the number and CRC-32 of its last bytes.
      FileEnd = Struct.new(:inode, :size, :checked, :crc)
      CHUNK = 1 << 20 # about the most bytes of one write(2)
      TAIL = 64 # bytes at the file's end in the checksum of a FileEnd
      AGAIN = 60 # seconds between a failed rotation and the next try
      private_constant :CHUNK, :TAIL, :AGAIN

      # @return [String]
      attr_reader :path
      # @return [Integer] records written
      attr_reader :written
      # @return [Boolean] whether each write is followed by fsync(2)
      attr_reader :fsync

      # Opens the file, or creates it.
      # @param path [String, Pathname]
      # @param rotate [:daily, :weekly, :monthly, Integer, nil] Integer: bytes that a file may have,
      #   1 or more (a longer line gets a file of its own); nil: never. Names are those of Ruby's
      #   Logger: app.log.20261120, or app.log.0 (the newest), app.log.1…
      # @param keep [Integer, nil] most old files that stay, 1 or more; nil: all
      # @param gzip [Boolean] compress old files, in a thread
      # @param fsync [Boolean] fsync(2) after each {#write}
      # @param format [#call, :json, nil] makes a record's line; nil: the line of {Record#to_s}
      # @param clock [#now] gives the Time for the rotation
      # @raise [ArgumentValueError, ArgumentTypeError] when an option is not allowed
      # @raise [BusyError] when another process writes to the file
      # @raise [SystemError] when the file cannot be opened: Errno::ENOENT, Errno::EACCES…
      def initialize(path, rotate: nil, keep: nil, gzip: false, fsync: false, format: nil,
        clock: Time)
        @path = Files.checked_path(path, :sink, "path")
        period, @limit = checked_rotation(rotate)
        allowed = "a number of files, 1 or more, or nil for all"
        Errors.check_positive(:sink, "keep:", allowed, keep) unless keep.nil?
        @format = checked_format(format)
        @fsync = fsync ? true : false
        @clock = clock
        @warnings = Warnings.new(@path)
        @lock = Mutex.new
        @written = 0
        @rotation = Rotation.new(@path, period, keep, gzip, @warnings) if rotate
        open_file
      end

      # Appends records. A block is called before the first record in a file, and after each write;
      # the block gets the number of the records that are in the file so far.
      # @param records [Array<Record, #to_s>]
      # @yieldparam count [Integer]
      # @return [self]
      # @raise [SystemError] when the file cannot be written: Errno::ENOSPC, Errno::EFBIG…; the
      #   error's `sent` is the number of records that are in the file
      # @raise [ClosedError] after {#close}
      def write(records, &report)
        lines = records.map { |record| line(record) }
        @lock.synchronize do
          interrupts = @regular ? :never : :on_blocking
          Thread.handle_interrupt(Object => interrupts) { append(lines, report) }
        end
        self
      end

      # Reopens the path, for a file that was moved away (logrotate, SIGHUP).
      # @return [self]
      # @raise [SystemError] when the path cannot be opened; the sink keeps writing to the old file
      # @raise [ClosedError] after {#close}
      def reopen
        @lock.synchronize do
          raise closed if closed?
          old = @file
          open_file unless regular? && in_place?
          old.close unless old.equal?(@file)
        end
        self
      end

      # Closes the file; waits up to a second for the compression. A second call does nothing.
      # @return [nil]
      def close
        @lock.synchronize do
          @file&.close
          @file = nil
        end
        @rotation&.close
        @journal&.release
        nil
      end

      # @private
      attr_writer :journal # `close` releases the journal
      # @return [Boolean]
      def closed? = @file.nil?
      # @return [Array<String>] paths of the old files, the newest first
      def old_files = @rotation ? @rotation.files : []
      # @return [String]
      def inspect = "#<#{self.class.name} #{@path}#{" (closed)" if closed?}>"

      # Describes the file's end, for a {Journal}.
      # @private
      def file_end
        size = @file.size
        length = [size, TAIL].min
        crc = Zlib.crc32(length.zero? ? "" : @file.pread(length, size - length))
        FileEnd.new(@inode, size, length, crc)
      end

      # @private
      def regular? = @regular

      private

      def append(lines, report)
        index = 0
        while index < lines.size
          raise closed if closed?
          @size = @file.size if @regular # another program may have truncated the file
          rotate if due?(lines[index])
          report&.call(index) unless @reported
          @reported = true
          count, = Lines.chunk(lines, index, @limit ? [@limit - @size, CHUNK].min : CHUNK)
          chunk = lines[index, count]
          Files.append(@file, chunk.join, fsync: @fsync && @regular) do |error, done|
            raise failure(error, chunk, done, index, report)
          end
          in_file(count, index, report)
          index += count
        end
      end

      # Counts the written lines. If the block raises, removes these lines from the file.
      def in_file(count, before, report)
        report&.call(before + count)
        @written += count
      rescue
        Files.truncate(@file, @size) if @regular
        raise
      end

      # Truncates the file to its last whole line.
      def failure(error, lines, done, before, report)
        done = 0 if @fsync # with fsync, it is unknown which bytes of a failed write are on the disk
        count, whole = (done < lines.first.bytesize) ? [0, 0] : Lines.chunk(lines, 0, done)
        Files.truncate(@file, @size + whole) if @regular
        in_file(count, before, report) if count.positive?
        Errors.build(error.errno, :write, @path).tap { |built| built.sent = before + count }
      end

      def due?(line)
        return false unless @rotation && @regular && @size.positive?
        return false if @again && @clock.now < @again
        @limit ? @size + line.bytesize > @limit : @clock.now >= @due
      end

      def rotate
        now = @clock.now
        @again = nil
        old = @file
        @rotation.rotate(now) if in_place? # otherwise another program has moved the file
        open_file
        old.close
      rescue SystemCallError => error
        @warnings.call("#{error.message} (#{error.class})")
        @again = now + AGAIN # until then, records go to the old file
      end

      def open_file
        regular = !File.exist?(@path) || File.file?(@path)
        mode = regular ? File::RDWR | File::CREAT : File::WRONLY
        file = File.open(@path, mode | File::APPEND | File::BINARY, 0o666)
        claim(file) if regular
        @file = file
        @regular = regular
        @inode = file.stat.ino
        @size = regular ? file.size : 0
        @reported = false
        Files.sync(File.dirname(@path)) if @fsync && regular
        @due = @rotation&.due(@size.zero? ? @clock.now : file.mtime)
      rescue SystemCallError => error
        file&.close
        raise if error.is_a?(Error)
        raise Errors.build(error.errno, :open, @path)
      end

      # Compares inodes: JRuby's File.identical? compares the names with which files were opened.
      def in_place? = Files.inode(@path) == @inode

      def claim(file)
        return if file.flock(File::LOCK_EX | File::LOCK_NB)
        raise Errors.build(BusyError, :open, @path,
          "another process writes to it: each process needs its own file")
      rescue Errno::ENOLCK, Errno::EOPNOTSUPP, Errno::EINVAL
        nil # the file system has no locks
      end

      # A record that cannot be formatted is written by `inspect`: later records must not wait.
      def line(record)
        text = @format.call(record).to_s
        text.end_with?("\n") ? text.b : "#{text}\n".b
      rescue => error
        @warnings.call("#{error.message} (#{error.class})")
        "#{record.inspect}\n".b
      end

      # @return [Array(Symbol, Integer)] period (nil: none) and limit in bytes (nil: none)
      def checked_rotation(rotate)
        return [rotate, nil] if rotate.nil? || Rotation::PERIODS.include?(rotate)
        return [nil, rotate] if rotate.is_a?(Integer) && rotate.positive?
        raise Errors.bad_value(:sink, "rotate:", ":daily, :weekly, :monthly or bytes", rotate)
      end

      def checked_format(format)
        return Lines.new if format.nil?
        return ->(record) { record.to_json } if format == :json
        return format if format.respond_to?(:call)
        raise Errors.bad_type(:sink, "format:", "an object with call, :json or nil", format)
      end

      def closed = Errors.build(ClosedError, :write, @path, "the file was closed")
    end
  end
end
