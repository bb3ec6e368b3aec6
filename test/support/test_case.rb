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

    DEADLINE = 120 # seconds for one test, longer than any child process has: it finds hangs
    THREAD_DEADLINE = TestSupport::Waiters::HANG

    class << self
      # Seconds that each test of the class may take.
      # @return [Numeric]
      def deadline(seconds = nil)
        @deadline = seconds if seconds
        @deadline || ((superclass <= TestCase) ? superclass.deadline : DEADLINE)
      end

      # Runs the class's tests under GC.stress too, in its stage: each object costs a collection
      # there, so choose small ones.
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

      # Defines a test by a sentence; punctuation stays, as two names may differ only in an
      # endpoint.
      def test(sentence, &body)
        define_method("test_#{sentence.tr(" ", "_")}", &body)
      end

      # Without this check a test with a used or misspelt name would silently never run.
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

    # A number of rounds: fewer where each object made costs a collection, or each instruction a
    # hundred.
    def rounds(number, stressed:) = TestSupport::GCLevels.slow? ? stressed : number

    def before_setup
      super
      note_open_ones
      TestSupport::GCLevels.before_test
    end

    # The body is over; then, with the collector at its normal level, its sockets and contexts are
    # closed.
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

    # The order matters: a thread that waits on a socket ends when that closes, a context when its
    # sockets have.
    # @return [Array<String>] objects that the test did not clean up, or that would not end
    def clean_up
      problems = threads_that_failed
      problems.concat(end_children)
      problems.concat(close_sockets)
      # later: sockets that our sockets opened internally close with them
      problems.concat(close_leaks)
      problems.concat(join_threads(THREAD_DEADLINE * TestSupport::GCLevels::SLOWNESS))
      problems.concat(close_contexts)
      remove_scratch_dir
      problems
    end
  end
end
