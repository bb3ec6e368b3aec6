# frozen_string_literal: true

require_relative "text"

module Godwit
  class Logger < ::Logger
    # Counts the records that will never be sent, and makes the record that tells readers of them.
    # Any thread may count, also in a trap handler: no method takes a lock.
    # @private
    class DropCounter
      # @param encoder [Encoder] counts the drops of each stream
      def initialize(encoder)
        @encoder = encoder
        @failed = @late = @reported = 0
        @first = @last_stream = nil
      end

      # @return [Integer] dropped and failed
      def count = @encoder.dropped + @failed

      # @return [Integer] {#count}, and those that came after the close
      def total = count + @late

      # A full queue refused or removed the record.
      def drop(stream)
        remember(stream)
        @encoder.drop(stream)
      end

      # A record could not be stored.
      def fail(stream)
        remember(stream)
        @failed += 1
      end

      # @param records [Integer] that an earlier writer had stored, and lost
      def inherit(records) = @failed += records

      # A record came after the close.
      def late = @late += 1

      def unreported? = count != @reported

      # @yieldparam entry [Array] one that closes the gaps which readers see (see {Encoder})
      def report(now)
        dropped = count
        yield entry(dropped - @reported, now - (@first || now))
        @reported = dropped
        @first = nil
      end

      private

      def remember(stream)
        @first ||= Timeout.now
        @last_stream = stream
      end

      def entry(count, seconds)
        [
          @encoder.stream(::Logger::WARN, @last_stream&.prog),
          Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond),
          Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), Thread.current.object_id,
          format("dropped %d in %.1f s", count, seconds), nil,
          Text.field("payload", {dropped: count, seconds: seconds.round(3)}), nil
        ]
      end
    end
    private_constant :DropCounter
  end
end
