# frozen_string_literal: true

require "optparse"
require "stringio"
require_relative "changes"
require_relative "stages"

module Godwit
  module TestSupport
    # bin/test: runs all stages, even after a failure, and prints a summary. The last line is the
    # outcome in numbers.
    class Runner
      def initialize(arguments, changes: Changes.new(Stage::ROOT), gate: GATE)
        @seed = Random.new_seed % 0xFFFF
        @jobs = 4 # stages that run at the same time; a stage spends half of its time waiting
        @changes = changes
        @stages = gate + FULL.select { |stage| stage.touched?(@changes) }
        @whole = true
        parse(arguments)
      end

      # @return [Integer] exit status: 0 when all passed, 1 when something failed, 130 when
      #   interrupted
      def run
        puts "Seed #{@seed} decides the order of the tests, and what the gate chooses among " \
          "transports and files."
        commit = @changes.commit
        before = @changes.uncommitted
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        interrupted = catch_interrupt { run_stages }
        @seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
        @leftovers = @whole ? @changes.uncommitted - before : []
        @changes.note_green(commit) if @whole && !interrupted && failed.zero?
        sum_up
        return 130 if interrupted
        failed.zero? ? 0 : 1
      end

      private

      def parse(arguments)
        parser = OptionParser.new do |options|
          options.banner = "usage: bin/test [options] [stage…]"
          options.separator "Runs the gate and, when an earlier run was green, what else the " \
            "change since then touches; or the stages named."
          options.on("--quick", "lint to conformance: about two minutes") do
            choose_all(GATE.select(&:quick?), whole: false)
          end
          options.on("--work", "the gate's stages of work/, the gem godwit-work") do
            choose_all(GATE.select(&:work?), whole: false)
          end
          options.on("--full", "all stages, with long rounds and all transports") do
            choose_all(GATE + FULL, long: true)
          end
          options.on("--seed N", Integer, "repeat the order of an earlier run") do |seed|
            @seed = seed
          end
          options.on("--jobs N", Integer, "so many stages at once (default 4)") do |jobs|
            @jobs = [jobs, 1].max
          end
          options.on("--list", "list the stages") { list }
          options.separator "Environment: " \
            "GODWIT_TEST_GC=normal|shuffle|stress (see test/support/gc_levels.rb)"
        end
        choose(parser.parse(arguments))
      rescue OptionParser::ParseError => error
        abort "#{error.message}\n#{parser}"
      end

      def choose_all(stages, whole: true, long: false)
        @stages = stages
        @whole = whole
        @long = long
      end

      def choose(names)
        return if names.empty?
        all = GATE + FULL
        @whole = false
        @stages = names.map do |name|
          all.find { |stage| [stage.name, stage.name.tr(" ", "-")].include?(name) } ||
            abort(
              "no stage #{name}: there " \
              "are #{all.map { |stage| stage.name.tr(" ", "-") }.join(", ")}"
            )
        end
      end

      def list
        [[GATE, nil], [FULL, " (--full)"]].each do |stages, where|
          stages.each do |stage|
            marks = [*(" (--quick)" if stage.quick?), *(" (--work)" if stage.work?), *where]
            puts format("%-22s %s%s", stage.name.tr(" ", "-"), stage.about, marks.join)
          end
        end
        exit 0
      end

      # Runs the stages in order, and several at the same time where they allow it: most of a
      # stage's time is waiting.
      def run_stages
        @stages.chunk_while { |one, next_one| one.alone? == next_one.alone? }.each do |stages|
          if stages.first.alone? || stages.one? || @jobs == 1
            stages.each { |stage| run_stage(stage) }
          else
            run_together(stages)
          end
        end
      end

      def run_stage(stage)
        puts "", "== #{stage.name}: #{stage.about}"
        outcome = stage.run(@seed, long: @long)
        puts format("== %s: %s, %.1f s", stage.name, counts(outcome), outcome.seconds)
      end

      # Prints each stage's output when the stage has ended.
      def run_together(stages)
        waiting = stages.each_with_object(Thread::Queue.new) { |stage, queue| queue << stage }.close
        printing = Mutex.new
        workers = Array.new(@jobs) do
          Thread.new do
            while (stage = waiting.pop)
              printing.synchronize { puts "   (#{stage.name} begins)" }
              text = StringIO.new
              outcome = stage.run(@seed, out: text, long: @long)
              printing.synchronize do
                puts "", "== #{stage.name}: #{stage.about}", text.string
                puts format("== %s: %s, %.1f s", stage.name, counts(outcome), outcome.seconds)
              end
            end
          end
        end
        workers.each(&:join)
      ensure
        workers&.each(&:kill)&.each(&:join) # the stages' processes end with these threads
      end

      def catch_interrupt
        yield
        false
      rescue Interrupt
        puts "", "interrupted"
        true
      end

      def sum_up
        done = @stages.select(&:outcome)
        puts "", "Stages:"
        done.each do |stage|
          puts format(
            "  %-22s %7.1f s  %s", stage.name, stage.outcome.seconds, counts(stage.outcome)
          )
        end
        print_lines("Not run:", (@stages - done).map { |stage| "stage #{stage.name}: interrupted" })
        print_lines("Skipped:", entries(done, :skips))
        print_lines("Failed:", entries(done, :failures))
        print_lines("Failed: a test changed the checkout (git status):", @leftovers)
        puts "", "Seed #{@seed}: bin/test --seed #{@seed} repeats this order. Logs are in tmp/test."
        puts format("%d stages, %d jobs, %d min %d s", done.size, @jobs, *@seconds.round.divmod(60))
        puts format("%d passed, %d failed, %d skipped", total(:passed), failed, total(:skipped))
      end

      def print_lines(title, lines)
        puts "", title, lines.map { |line| line.gsub(/^/, "  ") } if lines.any?
      end

      def entries(stages, kind)
        stages.flat_map do |stage|
          stage
            .outcome
            .public_send(kind)
            .map { |entry| "[#{stage.name}] #{entry[:name]}: #{entry[:text]}" }
        end
      end

      def counts(outcome)
        format(
          "%d passed, %d failed, %d skipped%s", outcome.passed, outcome.failed, outcome.skipped,
          ("  <==" if outcome.failed > 0)
        )
      end

      # Counts the failures, and one more when the run has changed the checkout.
      def failed = total(:failed) + (@leftovers.any? ? 1 : 0)

      def total(kind) = @stages.filter_map(&:outcome).sum { |outcome| outcome.public_send(kind) }
    end
  end
end

exit Godwit::TestSupport::Runner.new(ARGV).run if $PROGRAM_NAME == __FILE__
