# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Guards one socket or context. It is held for a few calls that never wait, so no interrupt is taken meanwhile: a thread that is killed
      # leaves no message half sent.
      #
      # In a trap handler Ruby allows no Mutex#lock, only try_lock. Another thread lets go in a moment, so it tries on; but where the handler
      # interrupted the very call that holds the lock there is nothing to wait for: Held.
      # @private
      class Lock
        # The lock is this thread's own already.
        class Held < StandardError; end

        NEVER = {Object => :never}.freeze

        attr_reader :mutex

        def initialize
          @mutex = Mutex.new
        end

        # @raise [Held]
        def synchronize
          Thread.handle_interrupt(NEVER) do
            take
            begin
              yield
            ensure
              @mutex.unlock
            end
          end
        end

        private

        def take
          return if @mutex.try_lock
          raise Held if @mutex.owned?
          begin
            @mutex.lock
          rescue ThreadError # in a trap handler
            try_on
          end
        end

        def try_on
          Thread.pass until @mutex.try_lock
        end
      end
    end
  end
end
