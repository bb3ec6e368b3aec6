# frozen_string_literal: true

require_relative "worker/jruby" if RUBY_ENGINE == "jruby"

module Godwit
  THREAD = (RUBY_ENGINE == "jruby") ? JRubyThread : Thread
  private_constant :THREAD

  # A thread of the library. An interrupt ends a `join` at once, like every other wait.
  class Worker < THREAD
    def join(seconds = nil)
      Timeout.take_interrupts # Ruby's join itself delivers no pending interrupt
      super
    end

    # Makes a thread for a call that no interrupt can end. The process's exit does not wait for it.
    def self.detached(&block)
      (RUBY_ENGINE == "jruby") ? JRubyThread::Detached.new(&block) : new(&block)
    end
  end
  private_constant :Worker
end
