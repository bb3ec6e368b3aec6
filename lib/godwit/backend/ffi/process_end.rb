# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The process's contexts, the thread that closes collected objects, and the wait for linger at
    # exit.
    module ProcessEnd
      # Seconds that close and exit wait beyond linger: an unreachable name server can delay
      # zmq_ctx_term.
      GRACE = Constants::CLOSE_GRACE / 1000

      @lock = Lock.new("list of contexts")
      @contexts = []
      @collected = Thread::Queue.new
      @retained = {}.compare_by_identity
      @over = false

      class << self
        # @return [Boolean] whether exit has closed the contexts, and none was opened since
        def over? = @over

        # Adds a new context. The first context registers an at_exit block. at_exit blocks that were
        # registered earlier run later, and find the contexts' sockets closed.
        def add(context)
          @lock.synchronize do
            unless @reaper
              @reaper = Thread.new { reap }
              process = Process.pid
              at_exit { wait_for_linger if process == Process.pid }
            end
            @over = false
            @contexts << context
          end
        end

        def remove(context)
          @lock.synchronize { @contexts.delete_if { |other| other.equal?(context) } }
        end

        # @return [Proc] a finalizer that gives a collected object's handle to the reaper thread.
        #   @retained refers to the handle, else JRuby could finalize the handle's pointers first.
        def finalizer(handle)
          @lock.synchronize { @retained[handle] = true }
          proc { @collected << handle }
        end

        private

        def reap
          Thread.current.name = "godwit reaper"
          Thread.handle_interrupt(Object => :immediate) do
            while (handle = @collected.pop)
              handle.collected
              @lock.synchronize { @retained.delete(handle) }
            end
          end
        end

        def wait_for_linger
          contexts = @lock.synchronize { @contexts.dup }
          start = Runtime.now
          @over = true
          contexts.each(&:close)
          contexts.each do |context|
            linger = context.longest_linger
            linger = context.exit_linger if linger < 0
            context.join(Clock.remaining((linger < 0) ? nil : start + linger / 1000.0 + GRACE))
          end
        end
      end
    end
  end
end
