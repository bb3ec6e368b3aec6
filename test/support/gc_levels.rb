# frozen_string_literal: true

require_relative "length"

module Godwit
  module TestSupport
    # How the garbage collector acts during tests. Every run moves all objects before some tests,
    # and `--full` compacts at each collection as well. GODWIT_TEST_GC selects another level:
    #
    # * normal:  the default above
    # * shuffle: moves all objects before each test
    # * stress: runs a minor GC at each allocation, in classes that call `under_gc_stress`; other
    #   classes do not run. This finds missing marks and write barriers in C
    # * stress-all: the same for all classes: `rake gc`
    # * none: leaves Ruby's settings, for stages in which compaction finds nothing or takes most of
    #   the time
    # * valgrind: the same as none, with longer deadlines: `rake memory`
    #
    # Where a level slows the tests down, SLOWNESS multiplies all deadlines.
    module GCLevels
      LEVELS = %w[normal shuffle stress stress-all none valgrind].freeze
      LEVEL = ENV.fetch("GODWIT_TEST_GC", "normal")
      abort "GODWIT_TEST_GC=#{LEVEL}: there are #{LEVELS.join(", ")}" unless LEVELS.include?(LEVEL)
      # A value of GC.stress= : 0x01 allows no major collections.
      STRESS = {"stress" => 0x01, "stress-all" => 0x01}.freeze
      LEFT_ALONE = %w[none valgrind].include?(LEVEL)
      SHUFFLE_EVERY = 10 # tests from one shuffle to the next; a shuffle takes some 70 ms

      SLOWNESS = (STRESS.key?(LEVEL) || LEVEL == "valgrind") ? 10 : 1

      @count = 0
      class << self
        def slow? = SLOWNESS > 1

        def stress? = STRESS.key?(LEVEL)

        # Whether tests also run if their classes do not call `under_gc_stress`.
        def everybody? = !stress? || LEVEL == "stress-all"

        def before_test
          return if LEFT_ALONE
          @count += 1
          shuffle if LEVEL == "shuffle" || (!stress? && @count % SHUFFLE_EVERY == 1)
          GC.stress = STRESS[LEVEL] if stress?
        end

        def after_body
          GC.stress = false if stress?
        end

        # JRuby cannot compact: its GC.compact does nothing.
        def compaction? = GC.respond_to?(:verify_compaction_references)

        def start
          return if LEFT_ALONE || !compaction?
          return unless stress? || Length.long?
          # If the first compaction is an automatic one, Ruby 3.1.2 with the extension crashes as it
          # loads the tests. The cause is not known.
          GC.compact
          GC.auto_compact = true
        end

        private

        # Moves all movable objects, and checks that no reference points to an old address.
        def shuffle
          return unless compaction?
          @grown ? GC.verify_compaction_references(toward: :empty) : grow_and_shuffle
        end

        # Doubles the heap, so that every object can move: once, since each call would double it.
        def grow_and_shuffle
          @grown = true
          room = (RUBY_VERSION >= "3.2") ? {expand_heap: true} : {double_heap: true}
          GC.verify_compaction_references(toward: :empty, **room)
        end
      end
      start
    end
  end
end
