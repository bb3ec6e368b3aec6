# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What belongs to the process: its contexts, the thread that closes what the collector found,
      # and the end.
      # @private
      module ProcessEnd
        GRACE = Constants::CLOSE_GRACE / 1000 # seconds

        @lock = Lock.new
        @contexts = []
        @found = Thread::Queue.new
        @kept = {}.compare_by_identity
        @pid = nil
        @over = false

        class << self
          # Whether the process is ending: its contexts were closed, and no other was opened since.
          def over? = @over

          # A context was opened. The first one registers the end: an at_exit block, so one that was
          # registered earlier finds its sockets closed (minitest's tests open theirs later, so they
          # do not).
          def enter(context)
            @lock.synchronize do
              if @pid != Process.pid # the first, or a forked child
                at_exit { wait_for_linger } unless @pid
                @pid = Process.pid
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

          # What a finalizer calls: it hands over and never waits. It must not hold the object. The
          # handle is kept until then: JRuby could finalize what it has of FFI's and of IO's before
          # it.
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

          # A signal ends it, as it raises here.
          def wait_for_linger
            return if @pid != Process.pid
            # Other threads enter and forget: on JRuby a copy made meanwhile has holes.
            contexts = @lock.synchronize { @contexts.dup }
            start = Clock.now
            @over = true
            contexts.each(&:close)
            contexts.each do |context|
              linger = context.longest_linger
              linger = context.exit_linger if linger < 0
              context.join(
                (linger < 0) ? nil : [start + linger / 1000.0 + GRACE - Clock.now, 0].max
              )
            end
          end
        end
      end
    end
  end
end
