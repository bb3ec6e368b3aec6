# frozen_string_literal: true

require "minitest"
require_relative "waiting"
require_relative "sockets"
require_relative "child"
require_relative "length"
require_relative "runtimes"

module Godwit
  # The base of every test class: it owns sockets, contexts, threads and child processes, closes
  # them, and fails a test that leaks one, hangs, or asserts nothing.
  class TestCase < Minitest::Test
    include TestSupport::Waiting
    include TestSupport::Sockets
    include TestSupport::Children
    include TestSupport::Runtimes

    DEADLINE = 120 # seconds for one test, more than any child process has: the deadline finds hangs
    THREAD_DEADLINE = TestSupport::Waiters::HANG

    class << self
      # Seconds that each test of the class may take.
      # @return [Numeric]
      def deadline(seconds = nil)
        @deadline = seconds if seconds
        @deadline || ((superclass <= TestCase) ? superclass.deadline : DEADLINE)
      end

      # Also runs the class's tests in the stage that sets GC.stress. Each allocation costs a
      # collection there, so choose small tests.
      def under_gc_stress
        @under_gc_stress = true
      end

      def runnable_methods
        (TestSupport::GCLevels.everybody? || @under_gc_stress) ? super : []
      end

      # Defines a test once for each transport: `each_transport("echo") { |transport| … }` gives
      # test_echo_over_tcp…
      def each_transport(name, only: TestSupport::Sockets::TRANSPORTS, &body)
        transports(only).each do |transport|
          test("#{name} over #{transport}") { instance_exec(transport, &body) }
        end
      end

      # @return [Array<Symbol>] those of `only` that the stage tests, at least one
      def transports(only)
        chosen = only & TestSupport::Sockets::TRANSPORTS
        chosen.empty? ? only.first(1) : chosen
      end

      # Defines a test with a sentence as its name. Punctuation stays in the name, as two names may
      # differ only in an endpoint.
      def test(sentence, &body)
        define_method("test_#{sentence.tr(" ", "_")}", &body)
      end

      # Raises when a test's name is misspelt or already used: Minitest would not run that test.
      def method_added(name)
        super
        @seen ||= {}
        if name.start_with?("test_") && @seen[name]
          raise NameError, "#{self}##{name} is defined twice"
        end
        @seen[name] = true
        return unless name.match?(/\A(tets|tset|tst|test(?!_|\z))/) && public_method_defined?(name)
        raise NameError, "#{self}##{name} would never run: a test's name starts with test_"
      end
    end

    def run
      TestSupport::Watchdog.watch(
        "#{self.class}##{name}", self.class.deadline * TestSupport::GCLevels::SLOWNESS
      ) { super }
    end

    # A number of rounds: smaller at GC levels where each allocation costs a collection, or where
    # valgrind slows each instruction a hundred times.
    def rounds(number, stressed:) = TestSupport::GCLevels.slow? ? stressed : number

    def before_setup
      super
      note_open_ones
      TestSupport::GCLevels.before_test
    end

    # Called at the end of the test's body. Restores the collector's normal level, then closes the
    # test's sockets and contexts.
    def before_teardown
      TestSupport::GCLevels.after_body
      super
    end

    def after_teardown
      super
      problems = clean_up
      flunk problems.join("\n") if problems.any?
      flunk "asserted nothing" if assertions.zero? && failures.empty?
    end

    private

    # Closes in this order: sockets first, which ends the threads that wait on them, and then their
    # contexts.
    # @return [Array<String>] objects that the test did not clean up, or that would not end
    def clean_up
      problems = threads_that_failed
      problems.concat(end_children)
      problems.concat(close_sockets)
      # Only now: the close of a test's socket also closes the sockets that it opened internally.
      problems.concat(close_leaks)
      problems.concat(join_threads(THREAD_DEADLINE * TestSupport::GCLevels::SLOWNESS))
      problems.concat(close_contexts)
      remove_scratch_dir
      problems
    end
  end
end
