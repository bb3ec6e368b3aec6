# frozen_string_literal: true

module Godwit
  # A thread of the library's own, which can be joined like every other wait: an interrupt ends it
  # at once.
  # @private
  class Worker < Thread
    # @param seconds [Numeric, nil] nil: for ever
    # @return [self, nil] nil when time is up
    def join(seconds = nil)
      Timeout.take_interrupts # which Ruby's join does not
      super if end_awaited?(seconds)
    end

    if RUBY_ENGINE == "jruby"
      require_relative "worker/jruby"
    else
      # One that may be in a call which nothing ends: the process does not wait for it when it
      # exits.
      # @return [#join]
      def self.detached(&block) = new(&block)

      private

      def end_awaited?(_seconds) = true
    end
  end
  private_constant :Worker
end
