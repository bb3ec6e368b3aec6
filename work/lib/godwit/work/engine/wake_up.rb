# frozen_string_literal: true

require "fileutils"
require "godwit/fork_detector"
require "securerandom"
require "socket"

module Godwit
  module Work
    # The FIFO of a consumer process. A writer wakes the process with bytes, and sees at once
    # whether the process lives: no process reads the FIFO of a dead one. Its access time is the
    # last report of the process, by the monotonic clock, which all processes share.
    # @private
    class WakeUp
      ENDED = [Errno::ENXIO, Errno::EPIPE].freeze
      MOST = 65_536 # bytes of a FIFO
      ATOMIC = 4_096 # bytes that a FIFO takes all or none
      ALL = 0 # instead of the ids of partitions
      REPORT = 1 # seconds between two reports
      # A read of the FIFO must not set its access time.
      OPEN = File::RDWR | File::NONBLOCK | (File.const_defined?(:NOATIME) ? File::NOATIME : 0)
      private_constant :ENDED, :MOST, :ATOMIC, :ALL, :REPORT, :OPEN

      # The FIFOs that a writer keeps open.
      #
      # **Threads**: any.
      class Targets
        def initialize = @fifos = {}

        # @param places [Array<String>] of all processes to wake from now on
        def update(places)
          gone = @fifos.except(*places)
          @fifos = places.to_h { |place| [place, @fifos[place] || WakeUp.open(place)] }.compact
          gone.each_value(&:close)
        end

        # @return [Boolean] whether no process is to wake
        def empty? = @fifos.empty?

        # Writes to all of them.
        # @param partitions [Array<Integer>] ids of those that have new records; none: look at all
        def wake(partitions)
          text = WakeUp.text(partitions)
          @fifos.each_value do |fifo|
            fifo.write_nonblock(text, exception: false) # false: there are many unread bytes
          rescue Errno::EPIPE, IOError
            nil # its process has ended, or another thread has closed it
          end
        end
      end

      class << self
        # @param partitions [Array<Integer>]
        # @return [String] for a FIFO
        def text(partitions)
          text = partitions.pack("V*")
          text.bytesize.between?(1, ATOMIC) ? text : [ALL].pack("V")
        end

        # @param place [String] the path of a FIFO
        # @return [File, nil] nil: its process has ended
        def open(place)
          File.open(place, File::WRONLY | File::NONBLOCK)
        rescue SystemCallError # also a FIFO of another user
          nil
        end

        # @param place [String] the path of a FIFO
        # @return [Boolean] whether its process lives
        def alive?(place)
          File.open(place, File::WRONLY | File::NONBLOCK).close
          true
        rescue *ENDED
          false
        rescue Errno::ENOENT
          !File.directory?(File.dirname(place)) # without the folder it knows nothing
        rescue SystemCallError
          true
        end
      end

      # @param place [String]
      # @return [Integer, nil] the process
      def self.pid(place) = File.basename(place)[/\A\d+(?=-)/]&.to_i

      # @return [String, nil] its host, which may be a container
      def self.host(place) = File.basename(place)[/\A\d+-\h+-(.+)/, 1]

      # @return [Float] seconds since the process has reported; 0: nothing is known
      def self.silent(place)
        [Timeout.now - File.stat(place).atime.to_f, 0.0].max
      rescue SystemCallError
        0.0
      end

      # Removes the FIFO of a dead process.
      def self.remove(place)
        File.delete(place)
      rescue SystemCallError # it is gone, or of another user
        nil
      end

      # @param folder [String] for the FIFOs of all processes
      # @raise [AccessError, FullError]
      def initialize(folder)
        FileUtils.mkdir_p(folder)
        @place = File.join(folder, name)
        File.mkfifo(@place, 0o600)
        # Its own writing end keeps the FIFO from ending when a writer closes.
        @io = File.open(@place, OPEN)
        report
        # A child that kept it would keep a dead process alive.
        ForkDetector::OF_PARENT[@io] = @io
      rescue Errno::ENOSPC
        raise FullError, "#{folder}: #{Database::FULL}"
      rescue SystemCallError => error
        raise AccessError, "#{folder}: #{error.message}: let this user make FIFOs in this folder"
      end

      # @return [String] the path
      attr_reader :place
      # @return [IO] readable when the process was woken
      attr_reader :io

      # @return [Boolean] whether something has deleted it
      def lost? = !File.exist?(@place)

      # Tells the other processes that this one works, once a second: a transaction would wake them.
      def report
        now = Timeout.now
        return if @reported && now < @reported + REPORT
        @reported = now
        File.utime(now, now, @place)
      rescue SystemCallError # the FIFO was deleted: the process makes another
        nil
      end

      # The runner's time for its end is over: its calls of the engine wait no longer.
      # @return [nil]
      def abandon = nil

      # Takes all bytes.
      # @return [Array<Integer>, nil] ids of the partitions that have new records; nil: look at all
      def clear
        bytes = @io.read_nonblock(MOST, exception: false)
        return if !bytes.is_a?(String) || bytes.bytesize > MOST - ATOMIC # some may be lost
        partitions = bytes.unpack("V*")
        partitions.uniq unless partitions.include?(ALL)
      end

      # @return [nil]
      def close
        WakeUp.remove(@place)
        @io.close
      end

      private

      def name
        "#{Process.pid}-#{SecureRandom.hex(4)}-#{::Socket.gethostname.tr("/", "_")}"
      end
    end
  end
end
