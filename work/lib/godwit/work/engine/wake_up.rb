# frozen_string_literal: true

require "fileutils"
require "godwit/fork_detector"
require "securerandom"
require "socket"

module Godwit
  module Work
    # The FIFO of a consumer process. A writer wakes the process with bytes, and sees at once
    # whether the process lives: a dead process's FIFO has no reader. The FIFO's access time is the
    # time of the process's last report, by the monotonic clock, which all processes share.
    # @private
    class WakeUp
      ENDED = [Errno::ENXIO, Errno::EPIPE].freeze
      MOST = 65_536 # capacity of a FIFO in bytes
      ATOMIC = 4_096 # bytes that a FIFO accepts completely, or not at all
      ALL = 0 # instead of an id: all partitions may have new records
      REPORT = 1 # seconds between two reports of a process
      # NOATIME: a read must not set the FIFO's access time, which is the time of the last report.
      OPEN = File::RDWR | File::NONBLOCK | (File.const_defined?(:NOATIME) ? File::NOATIME : 0)

      # The FIFOs that a writer keeps open.
      #
      # **Threads**: any.
      class Targets
        def initialize = @fifos = {}

        # @param paths [Array<String>] FIFOs of all processes to wake from now on
        def update(paths)
          gone = @fifos.except(*paths)
          @fifos = paths.to_h { |path| [path, @fifos[path] || WakeUp.open(path)] }.compact
          gone.each_value(&:close)
        end

        # @return [Boolean] whether there is no process to wake
        def empty? = @fifos.empty?

        # @param partitions [Array<Integer>] ids of partitions with new records; empty: check all
        def wake(partitions)
          text = WakeUp.text(partitions)
          @fifos.each_value do |fifo|
            # A FIFO that is full of unread bytes needs no write.
            fifo.write_nonblock(text, exception: false)
          rescue Errno::EPIPE, IOError
            nil # the FIFO's process has ended, or another thread has closed the FIFO
          end
        end
      end

      class << self
        # @return [String] the bytes that a writer writes to a FIFO
        def text(partitions)
          text = partitions.pack("V*")
          text.bytesize.between?(1, ATOMIC) ? text : [ALL].pack("V")
        end

        # @param path [String] of a FIFO
        # @return [File, nil] nil: the process has ended, or this user may not write to its FIFO
        def open(path)
          File.open(path, File::WRONLY | File::NONBLOCK)
        rescue SystemCallError # such as a FIFO of another user
          nil
        end

        # @param path [String] of a FIFO
        # @return [Boolean] whether the FIFO's process lives
        def alive?(path)
          File.open(path, File::WRONLY | File::NONBLOCK).close
          true
        rescue *ENDED
          false
        rescue Errno::ENOENT
          !File.directory?(File.dirname(path)) # without its folder a missing FIFO proves nothing
        rescue SystemCallError
          true
        end
      end

      # @return [Integer, nil] the process id in a FIFO's name
      def self.pid(path) = File.basename(path)[/\A\d+(?=-)/]&.to_i

      # @return [String, nil] the process's host, which may be a container
      def self.host(path) = File.basename(path)[/\A\d+-\h+-(.+)/, 1]

      # @return [Float] seconds since the process's last report; 0: the FIFO cannot be read
      def self.silent(path)
        [Timeout.now - File.stat(path).atime.to_f, 0.0].max
      rescue SystemCallError
        0.0
      end

      # Removes the FIFO of a dead process.
      def self.remove(path)
        File.delete(path)
      rescue SystemCallError # the FIFO is gone, or belongs to another user
        nil
      end

      # @param folder [String] for the FIFOs of all processes
      def initialize(folder)
        FileUtils.mkdir_p(folder)
        @path = File.join(folder, name)
        File.mkfifo(@path, 0o600)
        # RDWR: this process is a writer, too, so it reads no end of file when other writers close.
        @io = File.open(@path, OPEN)
        report
        # A forked child must close the FIFO: as long as it does not, a dead parent seems to live.
        ForkDetector::OF_PARENT.add(@io)
      rescue Errno::ENOSPC
        raise FullError, "#{folder}: #{Database::FULL}"
      rescue SystemCallError => error
        raise AccessError, "#{folder}: #{error.message}: let this user make FIFOs in this folder"
      end

      # @return [String] path of the FIFO
      attr_reader :path
      # @return [IO] readable when the process was woken
      attr_reader :io

      # @return [Boolean] whether the FIFO was deleted
      def lost? = !File.exist?(@path)

      # Reports that this process works, once a second at most. A report in the database would make
      # the other processes check for records.
      def report
        now = Timeout.now
        return if @reported && now < @reported + REPORT
        @reported = now
        File.utime(now, now, @path)
      rescue SystemCallError # the FIFO was deleted: this process makes another FIFO
        nil
      end

      # Called when the time in which a runner must end is over: ends the waits of its engine calls.
      # The calls of an SQLite engine have no such waits.
      def abandon = nil

      # Drains the FIFO.
      # @return [Array<Integer>, nil] ids of the partitions that have new records; nil: check all
      def clear
        bytes = @io.read_nonblock(MOST, exception: false)
        # If the FIFO was almost full, writers may have dropped ids: check all.
        return if !bytes.is_a?(String) || bytes.bytesize > MOST - ATOMIC
        partitions = bytes.unpack("V*")
        partitions.uniq unless partitions.include?(ALL)
      end

      def close
        WakeUp.remove(@path)
        @io.close
      end

      private

      def name
        "#{Process.pid}-#{SecureRandom.hex(4)}-#{::Socket.gethostname.tr("/", "_")}"
      end
    end
  end
end
