# frozen_string_literal: true

require "godwit/fork_detector"

module Godwit
  module Work
    # Calls the hooks that a consumer class has, one after the other, on one instance of the class.
    #
    # **Threads**: any thread may call. With `thread: true` the hooks run in a thread of their own,
    # so that commits do not wait for them.
    # @private
    class Hooks
      NAMES = %i[assigned revoked lost idle stopping].freeze

      # @param klass [Class] of {Consumer}
      # @param thread [Boolean] false: {#call} runs the hook itself
      def initialize(klass, events, thread: true)
        @klass = klass
        @events = events
        @names = NAMES.select { |name| klass.method_defined?(name) }
        @calls = Thread::Queue.new if thread
        start if thread && @names.any?
      end

      def has?(name) = @names.include?(name)

      # @param arguments [Array] the hook's arguments
      # @param after [Proc] runs when the hook has ended, also by an exception
      def call(name, *arguments, &after)
        return after&.call unless has?(name)
        @calls ? @calls << [name, arguments, after] : run(name, arguments, after)
        nil
      end

      # Calls the hook `idle` each time `now` changes to true.
      def idle(now)
        due = now && !@idle && !@idle_waits
        @idle = now
        return unless due
        @idle_waits = true
        call(:idle)
      end

      # Waits until the hooks that were called have ended.
      # @param seconds [Numeric, nil] the longest wait; nil: no limit
      def finish(seconds)
        @calls.close
        start = Timeout.now
        ended = nil
        # A hook that ends its thread leaves the remaining hooks to another thread.
        until (thread = @thread).equal?(ended)
          ended = thread.join(Timeout.remaining(seconds, start)) or break
        end
      end

      # Ends the hooks' thread, even while a hook runs.
      def kill
        @calls.clear.close
        @thread&.kill
      end

      def inspect = "#<#{self.class}>"

      private

      def start
        @thread = Worker.new do
          while (call = @calls.pop)
            run(*call)
          end
        ensure
          start unless @calls.closed? && @calls.empty? # a hook has ended this thread
        end
      end

      def run(name, arguments, after)
        forks = ForkDetector::COUNT[0]
        @idle_waits = false if name == :idle
        (@consumer ||= @klass.new).public_send(name, *arguments)
      rescue Exception => error # standard:disable Lint/RescueException -- also exit, and throw
        @events.emit(:error, error: error)
      ensure
        # A child process that a hook forked ends here: it must not run further hooks.
        exit!(0) if forks != ForkDetector::COUNT[0]
        after&.call
      end
    end
  end
end
