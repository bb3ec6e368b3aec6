# frozen_string_literal: true

require "test_helper"
require "delegate"
require "godwit/logger"
require_relative "constants"

module Godwit
  module TestSupport
    # Opens loggers, which the test's end closes, and a PULL that receives their records.
    module Logs
      include Constants

      # A PULL that returns the frames of one record at a time, even when a message contains several
      # records.
      class RecordPull < SimpleDelegator
        PACKING = Godwit::Logger.const_get(:Packing)

        def recv(**options)
          return @remaining.shift if @remaining&.any?
          message = super
          @remaining = PACKING.split(message)
          @remaining ? @remaining.shift : message
        end
      end

      def record_pull(**options)
        @record_pull ||=
          RecordPull.new(open_socket(:PULL, recv_hwm: 100_000, **options).bind("tcp://127.0.0.1:*"))
      end

      # @return [Godwit::Logger] closed at the test's end
      def logger(endpoint = record_pull.last_endpoint, linger: 10, **options)
        log = Godwit::Logger.new(endpoint, linger: linger, **options)
        (@loggers ||= []) << log
        log
      end

      def record(timeout: Waiters::HANG)
        Godwit::Logger::Record.parse(record_pull.recv(timeout: timeout))
      end

      def records(count) = Array.new(count) { record }

      # An endpoint without a listener.
      def nowhere = "ipc://#{scratch_dir}/nobody"

      def teardown
        _, said = capture_io { @loggers&.each { |log| log.close } }
        assert_equal "", said unless @may_lose
        super
      end

      # Allows the test's loggers to end with unsent records.
      def may_lose = @may_lose = true

      # Receives in a thread the records that a logger sends during the block.
      # @yieldparam log [Godwit::Logger]
      # @return [Array(Array<Godwit::Logger::Record>, Godwit::Logger::Stats)]
      def receiving(log)
        received = []
        over = false
        thread = in_thread do
          until over
            message = record_pull.recv(timeout: 0.1, exception: false)
            received << Godwit::Logger::Record.parse(message) if message
          end
        end
        yield log
        assert log.flush(timeout: Waiters::HANG)
        eventually { received.size >= log.stats.sent }
        over = true
        thread.join
        [received, log.stats]
      end

      # Makes callers wait much longer for room in a full queue. A delay of the sender or the reader
      # on a busy machine then costs no record.
      def patient_callers
        with_constants(Godwit::Logger.const_get(:BoundedQueue), YIELDS: 200, LONGEST_WAIT: 20.0) do
          yield
        end
      end

      # The writer that the logger uses in this process.
      def writer_of(log) = log.instance_variable_get(:@handle).current

      # Waits until a caller waits for room in the queue, or for its records to be sent.
      def until_full(log)
        queue = writer_of(log).queue
        eventually { queue.instance_variable_get(:@waiters).positive? }
      end

      # Runs a program that logs, to its end. {#record} returns the records.
      def assert_logs(source, **options)
        start = "require 'godwit'\nENDPOINT = #{record_pull.last_endpoint.inspect}\n"
        result = assert_child(run_child(start + source, **options))
        assert_equal "", result.stderr
        result
      end
    end
  end
end
