# frozen_string_literal: true

require "test_helper"
require "delegate"
require "godwit/logger"
require_relative "constants"

module Godwit
  module TestSupport
    # Loggers that a test owns, and a bare PULL that hears them.
    module Logs
      include Constants

      # A PULL that gives the frames of one record at a time, also of those that come in one
      # message.
      class RecordPull < SimpleDelegator
        PACKING = Godwit::Logger.const_get(:Packing)

        def recv(**options)
          return @left.shift if @left&.any?
          message = super
          @left = PACKING.split(message)
          @left ? @left.shift : message
        end
      end

      # @return [Godwit::PULL]
      def ear(**options)
        @ear ||=
          RecordPull.new(open_socket(:PULL, recv_hwm: 100_000, **options).bind("tcp://127.0.0.1:*"))
      end

      # @return [Godwit::Logger] closed at the test's end
      def logger(endpoint = ear.last_endpoint, linger: 10, **options)
        log = Godwit::Logger.new(endpoint, linger: linger, **options)
        (@loggers ||= []) << log
        log
      end

      # @return [Godwit::Logger::Record]
      def record(timeout: Waiters::HANG) = Godwit::Logger::Record.parse(ear.recv(timeout: timeout))

      def records(count) = Array.new(count) { record }

      # Nobody listens there.
      def nowhere = "ipc://#{scratch_dir}/nobody"

      def teardown
        _, said = capture_io { @loggers&.each { |log| log.close } }
        assert_equal "", said unless @may_lose
        super
      end

      # Loggers of this test end with records that they could not send.
      def may_lose = @may_lose = true

      # Hears in a thread what a logger sends meanwhile.
      # @yieldparam log [Godwit::Logger]
      # @return [Array(Array<Godwit::Logger::Record>, Godwit::Logger::Stats)]
      def hearing(log)
        heard = []
        over = false
        thread = in_thread do
          until over
            message = ear.recv(timeout: 0.1, exception: false)
            heard << Godwit::Logger::Record.parse(message) if message
          end
        end
        yield log
        assert log.flush(timeout: Waiters::HANG)
        eventually { heard.size >= log.stats.sent }
        over = true
        thread.join
        [heard, log.stats]
      end

      # Callers who find the queue full give the sender many times as long as they do otherwise:
      # what is tried is that a socket which accepts costs no record, and not whether this machine
      # holds up the sender, or the reader, for half a second.
      def patient_callers
        with_constants(Godwit::Logger.const_get(:BoundedQueue), YIELDS: 200, LONGEST_WAIT: 20.0) do
          yield
        end
      end

      # Waits until a caller waits for room in the queue, or for its records to be sent.
      def until_full(log)
        room = log.instance_variable_get(:@handle).current.queue
        eventually { room.instance_variable_get(:@waiters).positive? }
      end

      # A program that logs, to its end; what it sent is for {#record}.
      def assert_logs(source, **options)
        result =
          assert_child(
            run_child(
              "require 'godwit'\nENDPOINT = #{ear.last_endpoint.inspect}\n#{source}", **options
            )
          )
        assert_equal "", result.stderr
        result
      end
    end
  end
end
