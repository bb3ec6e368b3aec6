# frozen_string_literal: true

module Godwit
  module Shell
    # The time limits of one run: `timeout:`, `idle:`, `drain:`.
    # @private
    class Clock
      # @return [Integer] the end of `timeout:`, ms on the monotonic clock; -1: none
      attr_reader :deadline
      attr_reader :timed_out

      def initialize(plan)
        @start = @idle_start = @silent = Timeout.now
        @idle = plan.idle
        @drain = plan.drain
        @timeout = plan.timeout && @start + plan.timeout
        @deadline = @timeout ? (@timeout * 1000).ceil : -1
        @rows = @bytes = 0
      end

      # @return [Boolean] whether `drain:` ended the wait for the end of the output
      def truncated? = @truncated || false
      def spent = Timeout.now - @start

      # Restarts the `idle:` timer when the caller asks for rows.
      def resume
        @idle_start = Timeout.now if @idle
      end

      # @return [Hash{Symbol => Float}] most seconds to wait until a socket accepts a row, by option
      def limits
        {timeout: Timeout.until(@timeout), idle: @idle}.compact
      end

      # @param name [Symbol] the option whose limit has passed while a socket accepted no row
      def expire(name) = @timed_out = name

      def over?(sources, ended:)
        @first_end = nil
        return false unless @timeout || @idle || ended
        now = Timeout.now
        ends = {}
        ends[:timeout] = @timeout if @timeout
        ends[:idle] = idle_since(sources, now) + @idle if @idle
        ends[:drain] = silent_since(sources, now) + @drain if @drain && ended
        name, @first_end = ends.min_by(&:last)
        return false unless @first_end && now >= @first_end
        (name == :drain) ? @truncated = true : @timed_out = name
        true
      end

      def remaining = Timeout.until(@first_end)

      private

      def idle_since(sources, now)
        rows = sources.sum { |source| source.yields? ? source.rows : 0 }
        @idle_start = now if rows != @rows
        @rows = rows
        @idle_start
      end

      # The time of `drain:` starts when the processes have ended, and again with each output.
      def silent_since(sources, now)
        bytes = sources.sum(&:bytes)
        @silent = now if bytes != @bytes || !@draining
        @draining = true
        @bytes = bytes
        @silent
      end
    end
  end
end
