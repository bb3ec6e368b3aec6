# frozen_string_literal: true

require_relative "wire/header"
require_relative "wire/packing"

module Godwit
  class Logger < ::Logger
    # The extension's accelerators of the logger. Without the extension {Statistics}, {LogQueue},
    # {Packing} and {Header} in Ruby do the same.
    module Native
      if BACKEND == :native
        Statistics = Backend::Native::Statistics
        LogQueue = Backend::Native::LogQueue
        Packing = Backend::Native::Packing
        Header = Backend::Native::Header

        LogQueue.class_eval do
          # Only the wait for an entry takes interrupts.
          def take(most) = Thread.handle_interrupt(Object => :on_blocking) { _take(most) }
        end
      else
        require_relative "serving/statistics"
        require_relative "writing/log_queue"
        Statistics = Logger.const_get(:Statistics)
        LogQueue = Logger.const_get(:LogQueue)
        Packing = Logger.const_get(:Packing)
        Header = Logger.const_get(:Header)
      end
    end
    private_constant :Native
  end
end
