# frozen_string_literal: true

module Godwit
  module TestSupport
    # Waits until a thread or fiber is in a wait queue, so that the test's next step affects a
    # waiting call. Tests and their child processes both use this module.
    module Waiters
      # Seconds after which a wait counts as hanging. A passing test never waits nearly so long.
      HANG = 30
      POLL = 0.001 # seconds from one check to the next, at first
      LONGEST_POLL = 0.01

      # A ConditionVariable that counts the threads that wait on it.
      class CountedCondition < Thread::ConditionVariable
        # @return [Integer]
        attr_reader :waiting

        def initialize
          super
          @waiting = 0
        end

        # The caller holds the mutex, so the next thread that locks it sees this thread counted and
        # waiting.
        def wait(...)
          @waiting += 1
          super
        ensure
          @waiting -= 1
        end
      end

      # Passes the next new object of a class to the queue that {#next_made} returned.
      module Made
        attr_accessor :made

        def new(...)
          super.tap { |one| made && (queue, self.made = made, nil) && queue << one }
        end
      end

      module_function

      # @param thing [Socket, Poller, Proxy, Monitor, Loop, Thread::Queue, CountedCondition, Proc,
      #   nil] a Proc is called each time, and returns one of these or nil
      # @return [Integer] the number of threads and fibers that wait on the thing
      def waiters(thing)
        case thing
        when Proc then waiters(thing.call)
        when nil then 0
        when CountedCondition then thing.waiting
        when Thread::Queue, Thread::SizedQueue then thing.num_waiting
        else thing.__send__(:_waiters)
        end
      end

      # Replaces the condition variable of an object by one that counts its waiters.
      # @param variable [Symbol] the instance variable, such as :@changed
      # @return [CountedCondition] for {until_waiting}
      def count_waiters(object, variable)
        CountedCondition.new.tap { |counted| object.instance_variable_set(variable, counted) }
      end

      # The awaited condition never came true.
      class NeverCame < StandardError; end

      # Calls the block until its result is true, and returns that result.
      # @param deadline [Numeric] seconds
      def await(message = nil, deadline: HANG)
        start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        loop do
          # Read the clock before the check: this thread may be suspended during the check.
          waited = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
          value = yield
          return value if value
          if waited > deadline
            raise NeverCame, message || "what was awaited did not come true within #{deadline} s"
          end
          # A check may send a request, so the pauses grow with the time waited so far.
          sleep((waited / 10).clamp(POLL, LONGEST_POLL))
        end
      end

      # Waits until `count` threads or fibers wait on the thing.
      # @return [Object] the thing
      def until_waiting(thing, count = 1, deadline: HANG)
        await("fewer than #{count} wait on #{thing.inspect}", deadline: deadline) do
          waiters(thing) >= count
        end
        thing
      end

      # For a wait on an object that a method creates internally.
      # @return [Thread::Queue] gets the next object of this class that is created
      def next_made(type)
        type.singleton_class.prepend(Made)
        type.made = Thread::Queue.new
      end

      # @return [Thread] runs the block as soon as something waits on the thing
      def when_waiting(thing, count = 1)
        Thread.new do
          until_waiting(thing, count)
          yield
        end
      end
    end
  end
end
