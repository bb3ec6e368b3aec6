# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # What belongs to the process: its contexts, the thread that closes collected objects, and the
    # end.
    module ProcessEnd
      # Seconds that close and exit wait beyond linger: an unreachable name server can hold
      # zmq_ctx_term.
      GRACE = Constants::CLOSE_GRACE / 1000

      @lock = Lock.new("list of contexts")
      @contexts = []
      @found = Thread::Queue.new
      @kept = {}.compare_by_identity
      @generation = nil
      @over = false

      class << self
        # Whether the process is ending: its contexts were closed, and no other was opened since.
        def over? = @over

        # A context was opened. The first context registers an at_exit block. Blocks that were
        # registered earlier run later and find its sockets closed.
        def enter(context)
          @lock.synchronize do
            if @generation != ForkDetector::COUNT[0] # the first one, or a forked child's
              at_exit { wait_for_linger } unless @generation
              @generation = ForkDetector::COUNT[0]
              @contexts.clear
              @found = Thread::Queue.new
            end
            @over = false
            @contexts << context
            @reaper = Thread.new(@found) { |found| reap(found) } unless @reaper&.alive?
          end
        end

        def forget(context)
          @lock.synchronize { @contexts.delete_if { |other| other.equal?(context) } }
        end

        # @return [Proc] a finalizer that hands the handle over and never waits. It must not hold
        #   the object. The handle is kept until then: JRuby could finalize its pointers first.
        def finalizer(handle)
          @lock.synchronize { @kept[handle] = true }
          proc { @found << handle }
        end

        private

        def reap(found)
          Thread.current.name = "godwit reaper"
          Thread.handle_interrupt(Object => :immediate) do
            while (handle = found.pop)
              handle.collected
              @lock.synchronize { @kept.delete(handle) }
            end
          end
        end

        def wait_for_linger
          return if @generation != ForkDetector::COUNT[0]
          contexts = @lock.synchronize { @contexts.dup }
          start = Clock.now
          @over = true
          contexts.each(&:close)
          contexts.each do |context|
            linger = context.longest_linger
            linger = context.exit_linger if linger < 0
            left = start + linger / 1000.0 + GRACE - Clock.now
            context.join((linger < 0) ? nil : [left, 0].max)
          end
        end
      end
    end
  end
end
