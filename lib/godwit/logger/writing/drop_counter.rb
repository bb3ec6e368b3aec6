# frozen_string_literal: true

require_relative "../wire/text"

module Godwit
  class Logger < ::Logger
    # Counts the records that will never be sent, and makes the record that reports them to readers.
    # Any thread may count, also in a trap handler: no method takes a lock.
    class DropCounter
      def initialize(sequence)
        @sequence = sequence
        @failed = @late = @reported = 0
        @first = @last_stream = nil
      end

      def total = count + @late

      # The full queue refused or removed a record.
      def drop(stream)
        remember(stream)
        @sequence.drop(stream)
      end

      # A record could not be stored.
      def fail(stream)
        remember(stream)
        @failed += 1
      end

      # @param records [Integer] stored by an earlier writer, and lost
      def inherit(records) = @failed += records
      # A record came after the close.
      def late = @late += 1
      def unreported? = count != @reported

      # @yieldparam entry [Array] a record "dropped 12 in 0.5 s" (see {Entry})
      def report(now)
        dropped = count
        yield entry(dropped - @reported, now - (@first || now))
        @reported = dropped
        @first = nil
      end

      private

      def count = @sequence.dropped + @failed

      def remember(stream)
        @first ||= Timeout.now
        @last_stream = stream
      end

      def entry(count, seconds)
        t_ns, mono_ns = [Process::CLOCK_REALTIME, Process::CLOCK_MONOTONIC].map do |clock|
          Process.clock_gettime(clock, :nanosecond)
        end
        payload = Text.field("payload", {dropped: count, seconds: seconds.round(3)})
        text = format("dropped %d in %.1f s", count, seconds)
        [@sequence.stream(::Logger::WARN, @last_stream&.prog), t_ns, mono_ns,
          Thread.current.object_id, text, nil, payload, nil]
      end
    end
    private_constant :DropCounter
  end
end
