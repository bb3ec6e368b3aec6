# frozen_string_literal: true

module Godwit
  module Work
    # Wakes a runner of this process: a {WakeUp} with a pipe instead of a FIFO.
    # @private
    class PipeWakeUp < WakeUp
      # @param path [String] a name instead of the path of a FIFO
      def initialize(path = "")
        @path = path
        @io, @writer = IO.pipe
        [@io, @writer].each { |io| ForkDetector::OF_PARENT.add(io) }
      end

      # @return [IO] the end of the pipe to which writers write, such as librdkafka's threads
      attr_reader :writer

      # @param partitions [Array<Integer>] ids of the partitions that have new records
      def wake(partitions)
        @writer.write_nonblock(WakeUp.text(partitions), exception: false)
      rescue IOError # the runner has closed the pipe
        nil
      end

      def lost? = false

      # Does nothing: a process need not report to itself.
      def report = nil

      def close = [@io, @writer].each(&:close).then { nil }
      def closed? = @io.closed?
    end
  end
end
