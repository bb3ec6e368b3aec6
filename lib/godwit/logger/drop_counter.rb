# frozen_string_literal: true

require_relative "text"

module Godwit
  class Logger < ::Logger
    # What both kinds of writer have in common: how they end, and what they do with records that
    # will never go: they count them, and tell readers of them in one record.
    # @private
    module DropCounter
      # Callers, who hold no lock.
      # @param entry [Array] see {Encoder}
      def drop(entry)
        @first_drop ||= Timeout.now
        @last_dropped = entry[0]
        @encoder.drop(@last_dropped)
      end

      # Goes on for one that had to end.
      def inherit(writer)
      end

      # A record came after the close.
      def count_late = @late += 1

      # @return [Boolean] whether there is nothing left to do for it in this process: another thread
      #   may be about to end it, or an interrupt have cut that short
      def ended? = !own? || (@finished && !@ending.locked?)

      # Lets what is there go, or be acknowledged, for linger; tells what did not, or is kept for
      # the next start. One thread does, others wait for it. After an interrupt the next call goes
      # on.
      # @param start [Float] from when linger counts
      # @param most [Numeric] seconds, where they are less than linger
      def close(start = Timeout.now, most = @settings.linger)
        return if !own? || Thread.current.equal?(@thread)
        stop
        alone do
          # A thread that is about to begin must not come after the end.
          Thread.pass while @starting.locked? && !@starting.owned?
          finish(start + [@settings.linger, most].min) unless @finished
        end
      rescue ThreadError
        nil # a trap handler, in the midst of another's close
      end

      private

      # One thread ends it, others wait for that.
      # @raise [ThreadError] in a trap handler, in the midst of another's end
      def alone(&block)
        first_with(@ending, &block) or @ending.synchronize { nil }
      end

      # Runs the block unless another thread has the lock, also in a trap handler. An interrupt
      # between the two must not leave it locked.
      # @return [Boolean] whether it ran
      def first_with(lock)
        mine = false
        Thread.handle_interrupt(Object => :never) { mine = lock.try_lock }
        yield if mine
        mine
      ensure
        lock.unlock if mine
      end

      # @param dropped [Integer] so far
      # @return [Array] an entry that closes the readers' accounts; {#reported} says that it went
      def notice(dropped, now)
        count = dropped - @reported
        seconds = now - (@first_drop || now)
        [
          @encoder.stream(::Logger::WARN, @last_dropped&.prog),
          Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond),
          Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), Thread.current.object_id,
          format("dropped %d in %.1f s", count, seconds), nil,
          Text.field("payload", {dropped: count, seconds: seconds.round(3)}), nil
        ]
      end

      def reported(dropped)
        @reported = dropped
        @first_drop = nil
      end
    end
    private_constant :DropCounter
  end
end
