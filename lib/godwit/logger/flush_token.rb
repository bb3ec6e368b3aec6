# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Goes through the queue behind other entries, so that a caller hears when they are sent.
    # @private
    class FlushToken
      def initialize
        @lock = Mutex.new
        @told = ConditionVariable.new
      end

      # @param value [Boolean]
      def tell(value)
        @lock.synchronize do
          @value = value
          @told.broadcast
        end
      # A trap handler can wait for no lock; its main thread, which waits for it, may have this one.
      rescue ThreadError
        Thread.new { tell(value) }
      end

      # @return [Boolean] whether who asks could wait: a trap handler cannot
      def waitable?
        @lock.synchronize { true }
      rescue ThreadError
        false
      end

      # @param seconds [Numeric, nil] nil: for ever
      # @return [Boolean] false: they were not sent, or not in time
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
