# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Receives the messages of writers, writes their records to a sink, and then publishes them.
    class RecordInput
      MESSAGES = 32 # messages that one call receives, each with up to 64 KiB of records
      RECORDS = 256 # no further message joins a batch that has so many records
      CLOSE_TIMEOUT = 3 # seconds that a close waits for a sink without a method `close_timeout`

      def initialize(socket, sink, on_foreign, publisher)
        @socket = socket
        @sink = sink
        @on_foreign = on_foreign
        @publisher = publisher
        @memory = Topic.memory
        @warnings = Warnings.new(name)
        @written = @failed = @batch_size = 0
      end

      attr_reader :socket, :sink, :written, :failed, :error

      def receive
        messages = []
        records = []
        while messages.size < RECORDS && (received = next_messages)
          received.each { |message| unpack(message, messages, records) }
        end
        return false if messages.empty?
        write(records) if @sink && records.any?
        @publisher.publish(messages)
        true
      end

      def close_timeout = @sink.respond_to?(:close_timeout) ? @sink.close_timeout : CLOSE_TIMEOUT

      def close_sink
        @sink.close if @sink.respond_to?(:close)
      rescue => error
        @error = error
        warn_of(error, " at its end", always: true)
      end

      # Counts as lost the records that a hanging sink has not written.
      def give_up
        records = @batch_size - (sink_written - @written_before.to_i)
        @failed += records
        text = "it did not end within #{close_timeout} s; #{Text.count(records, "is", "are")} lost"
        @error = TimeoutError.new(text, operation: :close)
        @warnings.call(text, always: true)
      end

      private

      def next_messages = @socket.recv_many(MESSAGES, timeout: 0, exception: false)

      def unpack(message, messages, records)
        batch = Packing.split(message) || [Array(message)]
        batch.each do |frames|
          messages << frames
          record = Record.parse(frames, @memory)
          @publisher.count(frames, record)
          record ? records << record : foreign(message)
        end
      end

      def foreign(message)
        @on_foreign&.call(message)
      rescue => error
        warn_of(error)
      end

      def write(records)
        @written_before = sink_written
        @batch_size = records.size
        @sink.write(records)
        @written += records.size
      rescue => error
        in_file = error.is_a?(Error) ? error.sent.to_i : 0
        @written += in_file
        @failed += records.size - in_file
        @error = error
        warn_of(error, "; #{@failed} records were not written so far")
      ensure
        @batch_size = 0
        @written_before = sink_written
      end

      def sink_written = @sink.respond_to?(:written) ? @sink.written : 0

      def name
        return "a broadcaster" unless @sink
        @sink.respond_to?(:path) ? @sink.path : "the sink, a #{@sink.class}"
      end

      def warn_of(error, more = "", always: false)
        @warnings.call("#{error.message} (#{error.class})#{more}", always: always)
      end
    end
    private_constant :RecordInput
  end
end
