# frozen_string_literal: true

require "timeout"
require_relative "tiny_scheduler"
require_relative "waiting_calls"

module Godwit
  module TestSupport
    # Endings of a wait. The test class has a `prepare(name)`, which returns a {WaitingCalls::Call};
    # a call that needs a context uses @home. After an interrupt the test repeats the call, and then
    # closes the call's object, which ends the repeated call.
    module WaitEndings
      include WaitingCalls

      # "that was put off": handle_interrupt defers an interrupt that comes before the wait.
      WHILE = {"" => false, " that was put off" => true}.freeze
      CLOSES = {
        "its object is closed" => Godwit::ClosedError,
        "its receiver is closed" => Godwit::ClosedError,
        "its context is shut down" => Godwit::ContextTerminatedError,
        "its context is closed" => Godwit::ClosedError
      }.freeze
      FIBERS = Godwit::BACKEND != :ffi # on the FFI backend a wait blocks its whole thread
      STARTS = {"" => :in_thread, **(FIBERS ? {" in a fiber" => :fiber} : {})}.freeze

      # The rest of a test's name => the body of the test, which gets the name of the call.
      ENDINGS = {
        **Waiting::INTERRUPTS.to_a.product(WHILE.to_a).to_h do |(how, interrupt), (suffix, put_off)|
          raises = how == "Thread#raise"
          ["ends on #{how}#{suffix}", ->(name) { interrupt(name, put_off, raises, &interrupt) }]
        end,
        "ends on Timeout.timeout" => ->(name) { time_out(name) },
        **CLOSES.to_a.product(STARTS.to_a).to_h do |(what, error), (where, start)|
          ["ends#{where} when #{what}", ->(name) { close_under(name, what, error, start) }]
        end
      }
      if FIBERS
        ENDINGS["ends on Thread#kill in a fiber"] = ->(name) { kill_thread_of_fiber(name) }
        ENDINGS["ends in threads and fibers when its object is closed"] =
          ->(name) { close_under_ten(name) }
      end
      ENDINGS.freeze
      CHOICE = Random.new(Integer(ARGV[ARGV.index("--seed").to_i + 1], exception: false) || 0)

      # Defines the tests of the calls `names`: those that are also in `kinds` get all endings that
      # they can have, each other call gets one ending that the seed chooses.
      # @param but [Regexp] matches endings that these calls cannot have
      def self.test(type, names, kinds, but: /\0/)
        names.each do |name|
          sentences = possible(name).grep_v(but)
          sentences = [sentences.sample(random: CHOICE)] unless kinds.include?(name)
          sentences.each do |sentence|
            type.test("#{name} #{sentence}") { instance_exec(name, &ENDINGS.fetch(sentence)) }
          end
        end
      end

      # @return [Array<String>] the endings that this call can have
      def self.possible(name)
        call = WaitingCalls::Call.new(name)
        ENDINGS.keys.reject do |sentence|
          (sentence.include?("context") && !call.context?) ||
            (sentence.include?("receiver") && !call.receiver?) ||
            (sentence.include?("threads and") && !call.shared?) ||
            # Ruby itself crashes at the end of a thread that a fiber of a dead thread was joining.
            (sentence.include?("kill in a fiber") && name == "Proxy run")
        end
      end

      private

      def interrupt(name, put_off, raises)
        call = prepare(name)
        thread = put_off ? interrupted_before(-> { call.run }) { |one| yield one } : waiting(call)
        yield thread unless put_off
        stopped = begin
          ended(thread, "#{name} waits on")
        rescue Waiting::Stop => error
          error.class
        end
        raises ? assert_same(Waiting::Stop, stopped) : assert_nil(stopped)
        assert_waits_again(call)
      end

      def time_out(name)
        call = prepare(name)
        assert_raises(::Timeout::Error) { ::Timeout.timeout(0.01) { call.run } }
        assert_waits_again(call)
      end

      def close_under(name, what, error, start)
        call = prepare(name)
        waiter = waiting(call, start)
        close_by(call, what)
        error = nil if what.include?("receiver") && call.receiver.is_a?(Godwit::Loop)
        assert_ended(call, waiter, error)
      end

      def close_under_ten(name)
        call = prepare(name)
        waiters = %i[in_thread fiber].flat_map do |start|
          Array.new(5) { __send__(start) { call.run } }
        end
        # A call that opens a monitor waits on that monitor; the socket counts these waiters too.
        until_waiting(call.waited_on, 10)
        call.object.close
        waiters.each { |waiter| assert_ended(call, waiter, Godwit::ClosedError) }
      end

      def kill_thread_of_fiber(name)
        call = prepare(name)
        kill_careless_thread(call)
        assert_closes(call)
        GC.start # the object counts as in use until the collector frees the fiber
      end

      # A separate method, so that the caller's stack does not reference the fiber.
      def kill_careless_thread(call)
        thread = TinyScheduler.thread do |scheduler|
          scheduler.careless = true
          Fiber.schedule { call.run }
          scheduler.run
        end
        until_waiting(call.waited_on)
        thread.kill
        assert thread.join(Waiters::HANG), "it waits on"
      end

      # @return [Thread] a thread that waits in the call
      def waiting(call, start = :in_thread)
        __send__(start) { call.run }.tap { until_waiting(call.waited_on) }
      end

      def close_by(call, what)
        case what
        when /object/ then call.object.close
        when /receiver/ then call.receiver.close
        when /shut/ then @home.shutdown
        else @home.close
        end
      end

      # @param error [Class, nil] what a call without an own error raises; nil: the call returns
      def assert_ended(call, thread, error)
        error = call.error if call.own_error?
        return assert_returned(call, ended(thread, "#{call.name} waits on")) unless error
        assert_raises(error, call.name) { ended(thread, "#{call.name} waits on") }
      end

      def assert_returned(call, value)
        case call.receiver
        when Godwit::Loop then assert_equal :stopped, value
        when Godwit::Shell::Stream then assert value # the Status, or the rows
        else assert_same call.object, value
        end
      end

      def assert_waits_again(call)
        thread = waiting(call)
        assert_closes(call)
        assert_ended(call, thread, Godwit::ClosedError)
      end

      # Later the harness checks that the context ends in time: a remaining waiter would delay that.
      def assert_closes(call)
        call.object.close
        assert_predicate call.object, :closed? if call.object.respond_to?(:closed?)
      end
    end
  end
end
