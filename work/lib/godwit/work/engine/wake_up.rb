# frozen_string_literal: true

require "fileutils"
require "godwit/fork_detector"
require "securerandom"
require "socket"

module Godwit
  module Work
    # The FIFO of a consumer process. A writer wakes the process with bytes, and sees at once
    # whether the process lives: a dead process's FIFO has no reader. The FIFO's access time is the
    # last report of the process, by the monotonic clock, which all processes share.
    # @private
    class WakeUp
      ENDED = [Errno::ENXIO, Errno::EPIPE].freeze
      MOST = 65_536 # bytes that a FIFO holds
      ATOMIC = 4_096 # bytes that a FIFO accepts completely, or not at all
      ALL = 0 # stands for all ids of partitions
      REPORT = 1 # seconds between two reports
      # A read of the FIFO must not set its access time.
      OPEN = File::RDWR | File::NONBLOCK | (File.const_defined?(:NOATIME) ? File::NOATIME : 0)

      # The FIFOs that a writer keeps open.
      #
      # **Threads**: any.
      class Targets
        def initialize = @fifos = {}

        # @param paths [Array<String>] of all processes to wake from now on
        def update(paths)
          gone = @fifos.except(*paths)
          @fifos = paths.to_h { |path| [path, @fifos[path] || WakeUp.open(path)] }.compact
          gone.each_value(&:close)
        end

        # @return [Boolean] whether no process is to wake
        def empty? = @fifos.empty?

        # Writes to all FIFOs.
        # @param partitions [Array<Integer>] ids of those that have new records; none: check all
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
        # @return [String] for a FIFO
        def text(partitions)
          text = partitions.pack("V*")
          text.bytesize.between?(1, ATOMIC) ? text : [ALL].pack("V")
        end

        # @param path [String] of a FIFO
        # @return [File, nil] nil: its process has ended
        def open(path)
          File.open(path, File::WRONLY | File::NONBLOCK)
        rescue SystemCallError # such as a FIFO of another user
          nil
        end

        # @param path [String] of a FIFO
        # @return [Boolean] whether its process lives
        def alive?(path)
          File.open(path, File::WRONLY | File::NONBLOCK).close
          true
        rescue *ENDED
          false
        rescue Errno::ENOENT
          !File.directory?(File.dirname(path)) # without the folder the process may live
        rescue SystemCallError
          true
        end
      end

      # @return [Integer, nil] the process
      def self.pid(path) = File.basename(path)[/\A\d+(?=-)/]&.to_i

      # @return [String, nil] its host, which may be a container
      def self.host(path) = File.basename(path)[/\A\d+-\h+-(.+)/, 1]

      # @return [Float] seconds since the process has reported; 0: nothing is known
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
        # The process's own writing end keeps the FIFO from ending when a writer closes.
        @io = File.open(@path, OPEN)
        report
        # A forked child must close the FIFO: a dead parent would seem to live.
        ForkDetector::OF_PARENT.add(@io)
      rescue Errno::ENOSPC
        raise FullError, "#{folder}: #{Database::FULL}"
      rescue SystemCallError => error
        raise AccessError, "#{folder}: #{error.message}: let this user make FIFOs in this folder"
      end

      # @return [String] the path
      attr_reader :path
      # @return [IO] readable when the process was woken
      attr_reader :io

      # @return [Boolean] whether something has deleted it
      def lost? = !File.exist?(@path)

      # Reports that this process works, once a second at most. A transaction would wake the other
      # processes.
      def report
        now = Timeout.now
        return if @reported && now < @reported + REPORT
        @reported = now
        File.utime(now, now, @path)
      rescue SystemCallError # the FIFO was deleted: this process makes another FIFO
        nil
      end

      # Ends the waits of the runner's calls of the engine, when the runner's time for its end is
      # over.
      def abandon = nil

      # Drains the FIFO.
      # @return [Array<Integer>, nil] ids of the partitions that have new records; nil: check all
      def clear
        bytes = @io.read_nonblock(MOST, exception: false)
        # Writers to a full FIFO have dropped ids.
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
