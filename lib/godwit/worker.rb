# frozen_string_literal: true

module Godwit
  # A thread of the library. An interrupt ends a `join` at once, like every other wait.
  # @private
  class Worker < Thread
    # @param seconds [Numeric, nil] nil: for ever
    # @return [self, nil] nil when time is up
    def join(seconds = nil)
      Timeout.take_interrupts # Ruby's join takes none that is pending
      super if end_awaited?(seconds)
    end

    if RUBY_ENGINE == "jruby"
      require_relative "worker/jruby"
    else
      # A thread that may be in a call which cannot be ended. Exit does not wait for it.
      # @return [#join]
      def self.detached(&block) = new(&block)

      private

      def end_awaited?(_seconds) = true
    end
  end
  private_constant :Worker
end
