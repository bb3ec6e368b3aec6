# frozen_string_literal: true

require "fileutils"
require "godwit/fork_detector"
require "securerandom"

module Godwit
  module Work
    # The FIFO of a consumer process. A writer wakes the process with a byte, and sees at once
    # whether the process lives: no process reads the FIFO of a dead one.
    # @private
    class WakeUp
      ENDED = [Errno::ENXIO, Errno::ENOENT, Errno::EPIPE].freeze
      MOST = 65_536 # bytes of a FIFO
      private_constant :ENDED, :MOST

      class << self
        # @param place [String] the path of a FIFO
        # @return [Boolean] whether its process lives
        def wake(place)
          File.open(place, File::WRONLY | File::NONBLOCK) { |fifo| fifo.write_nonblock("!") }
          true
        rescue *ENDED
          false
        rescue SystemCallError # such as many unread bytes, or a FIFO of another user
          true
        end

        # @param place [String] the path of a FIFO
        # @return [Boolean] whether its process lives
        def alive?(place)
          File.open(place, File::WRONLY | File::NONBLOCK).close
          true
        rescue *ENDED
          false
        rescue SystemCallError
          true
        end
      end

      # @param place [String]
      # @return [Integer, nil] the process
      def self.pid(place) = File.basename(place)[/\A\d+(?=-)/]&.to_i

      # Removes the FIFO of a dead process.
      def self.remove(place)
        File.delete(place)
      rescue Errno::ENOENT
        nil
      end

      # @param folder [String] for the FIFOs of all processes
      def initialize(folder)
        FileUtils.mkdir_p(folder)
        @place = File.join(folder, "#{Process.pid}-#{SecureRandom.hex(4)}")
        File.mkfifo(@place, 0o600)
        # Its own writing end keeps the FIFO from ending when a writer closes.
        @io = File.open(@place, File::RDWR | File::NONBLOCK)
        # A child that kept it would keep a dead process alive.
        ForkDetector::OF_PARENT[@io] = @io
      end

      # @return [String] the path
      attr_reader :place
      # @return [IO] readable when the process was woken
      attr_reader :io

      # Takes all bytes.
      def clear
        @io.read_nonblock(MOST, exception: false)
        nil
      end

      # @return [nil]
      def close
        WakeUp.remove(@place)
        @io.close
      end
    end
  end
end
