# frozen_string_literal: true

module Godwit
  module Shell
    # The time limits of one run: `timeout:`, `idle:`, `drain:`.
    # @private
    class Clock
      # @return [Integer] of the whole run, ms on the monotonic clock; -1: none
      attr_reader :deadline
      attr_reader :timed_out

      def initialize(plan)
        @start = @quiet = @silent = Timeout.now
        @idle = plan.idle
        @drain = plan.drain
        @timeout = plan.timeout && @start + plan.timeout
        @deadline = @timeout ? (@timeout * 1000).ceil : -1
        @rows = @bytes = 0
      end

      # @return [Boolean] whether `drain:` ended the wait for the end of the output
      def truncated? = @truncated || false
      def spent = Timeout.now - @start

      # The caller asks for rows again: `idle:` does not count the time until now.
      def resume
        @quiet = Timeout.now if @idle
      end

      def over?(sources, ended:)
        @waits_for = nil
        return false unless @timeout || @idle || ended
        now = Timeout.now
        ends = {}
        ends[:timeout] = @timeout if @timeout
        ends[:idle] = quiet_since(sources, now) + @idle if @idle
        ends[:drain] = silent_since(sources, now) + @drain if @drain && ended
        name, @waits_for = ends.min_by(&:last)
        return false unless @waits_for && now >= @waits_for
        (name == :drain) ? @truncated = true : @timed_out = name
        true
      end

      # @return [Float, nil] seconds until the first limit
      def left = @waits_for && [@waits_for - Timeout.now, 0].max

      private

      def quiet_since(sources, now)
        rows = sources.sum { |source| source.yields? ? source.rows : 0 }
        @quiet = now if rows != @rows
        @rows = rows
        @quiet
      end

      # The end of the processes counts as output.
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
