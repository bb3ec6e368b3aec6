# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The extension's accelerators of the logger. Without the extension {Statistics} and {LogQueue}
    # in Ruby do the same.
    module Native
      if BACKEND == :native
        Statistics = Backend::Native::Statistics
        LogQueue = Backend::Native::LogQueue

        LogQueue.class_eval do
          # Only the wait for an entry takes interrupts.
          def take(most) = Thread.handle_interrupt(Object => :on_blocking) { _dequeue(most) }
        end
      else
        require_relative "serving/statistics"
        require_relative "writing/log_queue"
        Statistics = Logger.const_get(:Statistics)
        LogQueue = Logger.const_get(:LogQueue)
      end
    end
    private_constant :Native
  end
end
