# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Guards one socket or context. It is held for a few calls that never wait, so no interrupt is
      # taken meanwhile: a thread that is killed leaves no message half sent.
      #
      # Where a thread has a fiber scheduler no thread sleeps for it, but tries: unlocking a
      # Mutex that a fiber waits for there calls that scheduler, on CRuby 3.1 with the Mutex
      # unlocked but still among those that its thread keeps. A kill or an error just then, or
      # another who takes it, ends the process when that thread ends ("invalid keeping_mutexes").
      #
      # In a trap handler Ruby allows no Mutex#lock, only try_lock. Another thread lets go in a
      # moment, so it tries on; but where the handler interrupted the very call that holds the lock
      # there is nothing to wait for: Held. What a handler raises (Ctrl-C's Interrupt too) no mask
      # holds back: it may come between the taking and the next line, so what is let go is what this
      # thread owns, not what it knows to have taken.
      # @private
      class Lock
        # The lock is this thread's own already.
        class Held < StandardError; end

        NEVER = {Object => :never}.freeze
        # Seconds in which another thread lets go, however busy the machine; after them it is a
        # fiber of this thread, which only the scheduler lets go on.
        PATIENCE = 1
        private_constant :PATIENCE

        attr_reader :mutex

        def initialize
          @mutex = Mutex.new
        end

        # @raise [Held]
        def synchronize
          Thread.handle_interrupt(NEVER) do
            refuse_own
            begin
              take
              yield
            ensure
              release
            end
          end
        end

        # Before `take`: after it nobody can tell whose it was.
        # @raise [Held]
        def refuse_own
          raise Held if @mutex.owned?
        end

        # Without a block, for several at once; where no interrupt is taken, and `release` is sure
        # to follow.
        def take
          return if @mutex.try_lock
          return if Scheduler.here? && try_until(Clock.now + PATIENCE)
          begin
            @mutex.lock
          rescue ThreadError # in a trap handler
            try_until(nil)
          end
        end

        def release
          @mutex.unlock if @mutex.owned?
        end

        private

        # @return [Boolean] false when the moment has passed
        def try_until(moment)
          until @mutex.try_lock
            return false if Clock.passed?(moment)
            Thread.pass
          end
          true
        end
      end
    end
  end
end
