# frozen_string_literal: true

module Godwit
  module TestSupport
    # Waiting for a waiter: for the moment when a thread or fiber is in a wait queue, so that the
    # test's next step affects a waiting call. Tests and their child processes both use it.
    module Waiters
      # Seconds after which something hangs. No test expects to come near it.
      HANG = 30
      POLL = 0.001 # seconds
      LONGEST_POLL = 0.01

      # A ConditionVariable that counts the threads in its wait.
      class CountedCondition < Thread::ConditionVariable
        # @return [Integer]
        attr_reader :waiting

        def initialize
          super
          @waiting = 0
        end

        # Called with the mutex held, so that the next thread to take it finds this one counted and
        # waiting.
        def wait(...)
          @waiting += 1
          super
        ensure
          @waiting -= 1
        end
      end

      # Hands a new object to {#next_made}.
      module Made
        attr_accessor :made

        def new(...)
          super.tap { |one| made && (queue, self.made = made, nil) && queue << one }
        end
      end

      module_function

      # @param thing [Socket, Poller, Proxy, Monitor, Loop, Thread::Queue, CountedCondition, Proc,
      #   nil] a Proc finds the thing, or nil, at each call
      # @return [Integer] threads and fibers that wait on it
      def waiters(thing)
        case thing
        when Proc then waiters(thing.call)
        when nil then 0
        when CountedCondition then thing.waiting
        when Thread::Queue, Thread::SizedQueue then thing.num_waiting
        else thing.__send__(:_waiters)
        end
      end

      # Replaces an object's condition variable by one that counts its waiters.
      # @param variable [Symbol] such as :@changed
      # @return [CountedCondition] for {until_waiting}
      def count_waiters(object, variable)
        CountedCondition.new.tap { |counted| object.instance_variable_set(variable, counted) }
      end

      # The awaited condition never came true.
      class NeverCame < StandardError; end

      # Waits until the block gives something true, and gives that.
      # @param deadline [Numeric] seconds
      def await(message = nil, deadline: HANG)
        start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        loop do
          # Read before the check, during which this thread may stand still.
          waited = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
          value = yield
          return value if value
          if waited > deadline
            raise NeverCame, message || "what was awaited did not come true within #{deadline} s"
          end
          # A check may cost a request. No wait takes a tenth longer.
          sleep((waited / 10).clamp(POLL, LONGEST_POLL))
        end
      end

      # Waits until so many threads or fibers wait on the thing.
      # @return [Object] the thing
      def until_waiting(thing, count = 1, deadline: HANG)
        await("fewer than #{count} wait on #{thing.inspect}", deadline: deadline) do
          waiters(thing) >= count
        end
        thing
      end

      # For a wait on an object that a method makes internally.
      # @return [Thread::Queue] that gets the next object created of the class
      def next_made(type)
        type.singleton_class.prepend(Made)
        type.made = Thread::Queue.new
      end

      # @return [Thread] that runs the block as soon as something waits on the thing
      def when_waiting(thing, count = 1)
        Thread.new do
          until_waiting(thing, count)
          yield
        end
      end
    end
  end
end
