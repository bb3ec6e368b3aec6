# frozen_string_literal: true

require_relative "warnings"
require_relative "append"
require_relative "folder"
require_relative "lines"
require_relative "record"
require_relative "rotation"

module Godwit
  class Logger < ::Logger
    # A file that records are appended to, the way Ruby's Logger would have written them; `godwit
    # log serve --file` has one.
    #
    #   sink = Godwit::Logger::Sink.new("app.log", rotate: :daily, keep: 14, gzip: true)
    #   reader.each_slice(256) { |records| sink.write(records) }
    #
    # Lines are whole: where the disk is full in mid-line, that line is taken back and the call
    # raises. A newline within a record stays, as Ruby's Logger leaves it. There is no "Logfile
    # created" line at the head: each line is a record.
    #
    # The file is locked (`flock`): two processes do not write to one. A path that is no regular
    # file (a FIFO, /dev/stdout) is written to as it is, and never rotated.
    #
    # Any number of threads may write; each call's records stay together. A kill or `Timeout` waits
    # until the file is whole. After a fork the child must open its own.
    class Sink
      extend Keywords

      # Bytes of one write(2), about.
      CHUNK = 1 << 20
      # Bytes at the file's end by which it is known again.
      TAIL = 64
      # Seconds after a failed rotation until the next try.
      AGAIN = 60
      private_constant :CHUNK, :TAIL, :AGAIN

      # @return [String]
      attr_reader :path
      # @return [Integer] records written
      attr_reader :written
      # @return [Boolean] whether each write is followed by fsync(2)
      attr_reader :fsync

      # Opens the file, or makes it.
      # @param path [String]
      # @param rotate [:daily, :weekly, :monthly, Integer, nil] Integer: bytes that a file may have,
      #   1 or more (a longer line has one of its own); nil: never. Names are those of Ruby's
      #   Logger: app.log.20261120, or app.log.0 (the newest), app.log.1…
      # @param keep [Integer, nil] old files that are kept, 1 or more; nil: all
      # @param gzip [Boolean] compress the old ones, in a thread
      # @param fsync [Boolean] fsync(2) after each {#write}
      # @param format [#call, :json, nil] makes a record's line; nil: {Record#to_s}
      # @param clock [#now] gives the Time by which is rotated
      # @raise [ArgumentValueError, ArgumentTypeError] when an option is not allowed
      # @raise [BusyError] when another process writes to it
      # @raise [SystemError] when it cannot be opened: Errno::ENOENT, Errno::EACCES…
      def initialize(
        path, rotate: nil, keep: nil, gzip: false, fsync: false, format: nil, clock: Time
      )
        @path = checked_path(path)
        period, @limit = checked_rotation(rotate)
        keep = checked_keep(keep)
        @format = checked_format(format)
        @fsync = fsync ? true : false
        @clock = clock
        @warnings = Warnings.new(@path)
        @lock = Mutex.new
        @written = 0
        @rotation = Rotation.new(@path, period, keep, gzip, @warnings) if rotate
        open_file
      end

      # Appends records. With a block, yields the number of those that are in the file so far,
      # whenever a place in it is to be noted: before the first record in a file, and after each
      # write.
      # @param records [Array<Record, #to_s>]
      # @yieldparam count [Integer]
      # @return [self]
      # @raise [SystemError] when the file cannot be written: Errno::ENOSPC, Errno::EFBIG…; the
      #   error's `sent` is the number of records that are in the file, whole
      # @raise [ClosedError] after {#close}
      def write(records, &noted)
        lines = records.map { |record| line(record) }
        @lock.synchronize do
          Thread.handle_interrupt(Object => @regular ? :never : :on_blocking) do
            append(lines, noted)
          end
        end
        self
      end

      # Opens the path anew, for a file that was moved away (logrotate, SIGHUP).
      # @return [self]
      # @raise [SystemError] when it cannot be opened; the old one is written to as before
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

      # Closes the file; waits a second for what is being compressed. A second call does nothing.
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

      # What is closed with it.
      # @private
      attr_writer :journal

      # @return [Boolean]
      def closed? = @file.nil?

      # @return [Array<String>] paths of the old files, the newest first
      def old_files = @rotation ? @rotation.files : []

      # @return [String]
      def inspect = "#<#{self.class.name} #{@path}#{" (closed)" if closed?}>"

      # Where the file ends: its inode, its size, and a checksum of the last bytes. Called from the
      # block of {#write}.
      # @private
      # @return [Array(Integer, Integer, Integer, Integer)] inode, size, number and CRC-32 of its
      #   last bytes
      def place
        size = @file.size
        length = [size, TAIL].min
        [@inode, size, length, Zlib.crc32(length.zero? ? "" : @file.pread(length, size - length))]
      end

      # @private
      def regular? = @regular

      private

      def append(lines, noted)
        index = 0
        while index < lines.size
          raise closed if closed?
          @size = @file.size if @regular # it may have been truncated
          rotate if due?(lines[index])
          note(noted, index) unless @noted
          count, = Lines.part(lines, index, @limit ? [@limit - @size, CHUNK].min : CHUNK)
          index += put(lines[index, count], index, noted)
        end
      end

      def note(noted, count)
        noted&.call(count)
        @noted = true
      end

      def put(lines, before, noted)
        Append.write(@file, lines.join, fsync: @fsync && @regular) do |error, done|
          raise taken_back(error, lines, done, before, noted)
        end
        in_file(lines.size, before, noted)
      end

      # What cannot be noted is not in the file.
      def in_file(count, before, noted)
        noted&.call(before + count)
        @written += count
        count
      rescue
        @file.truncate(@size) if @regular
        raise
      end

      # What is not a whole line goes.
      # @return [Error]
      def taken_back(error, lines, done, before, noted)
        done = 0 if @fsync # who knows what of it is on the disk
        whole = count = 0
        while count < lines.size && whole + lines[count].bytesize <= done
          whole += lines[count].bytesize
          count += 1
        end
        @file.truncate(@size + whole) if @regular
        in_file(count, before, noted) if count.positive?
        Errors.build(error.errno, :write, @path).tap { |failure| failure.sent = before + count }
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
        @rotation.rotate(now) if in_place? # else somebody has moved it
        open_file
        old.close
      rescue SystemCallError => error
        @warnings.call("#{error.message} (#{error.class})")
        @again = now + AGAIN # the records are what counts
      end

      def open_file
        regular = !File.exist?(@path) || File.file?(@path)
        file =
          File.open(
            @path,
            (regular ? File::RDWR | File::CREAT : File::WRONLY) | File::APPEND | File::BINARY, 0o666
          )
        claim(file) if regular
        @file = file
        @regular = regular
        @inode = file.stat.ino
        @size = regular ? file.size : 0
        @noted = false
        Folder.sync(File.dirname(@path)) if @fsync && regular
        @due = @rotation&.due(@size.zero? ? @clock.now : file.mtime)
      rescue SystemCallError => error
        file&.close
        raise if error.is_a?(Error)
        raise Errors.build(error.errno, :open, @path)
      end

      # Not by File.identical?, which on JRuby goes by the name that the file was opened with.
      def in_place?
        File.stat(@path).ino == @inode
      rescue Errno::ENOENT
        false
      end

      def claim(file)
        return if file.flock(File::LOCK_EX | File::LOCK_NB)
        raise Errors.build(
          BusyError, :open, @path, "another process writes to it: give each a file of its own"
        )
      rescue Errno::ENOLCK, Errno::EOPNOTSUPP, Errno::EINVAL
        nil # a file system without locks
      end

      # A record that nobody can format is written all the same: it must not stand in the way of the
      # others.
      def line(record)
        text = @format.call(record).to_s
        text.end_with?("\n") ? text.b : "#{text}\n".b
      rescue => error
        @warnings.call("#{error.message} (#{error.class})")
        "#{record.inspect}\n".b
      end

      def closed = Errors.build(ClosedError, :write, @path, "the file was closed")
    end
  end
end
require_relative "sink/arguments"
