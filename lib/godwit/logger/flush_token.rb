# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Passes the queue behind a caller's entries, and wakes the caller once those are sent.
    # @private
    class FlushToken
      def initialize
        @lock = Mutex.new
        @told = ConditionVariable.new
      end

      # @param value [Boolean] whether the entries were sent
      def tell(value)
        @lock.synchronize do
          @value = value
          @told.broadcast
        end
      rescue ThreadError # a trap handler, which can take no lock
        Thread.new { tell(value) }
      end

      # @return [Boolean] false in a trap handler
      def waitable?
        @lock.synchronize { true }
      rescue ThreadError
        false
      end

      # @param seconds [Numeric, nil] nil: for ever
      # @return [Boolean] false: the entries were not sent, or not in time
      def wait(seconds)
        finish = seconds && Timeout.now + seconds
        @lock.synchronize do
          while @value.nil?
            left = finish && finish - Timeout.now
            return false if left && left <= 0
            @told.wait(@lock, left)
          end
          @value
        end
      end
    end
    private_constant :FlushToken
  end
end
