# frozen_string_literal: true

require_relative "stage"

module Godwit
  module TestSupport
    # Quickest first. A deadline is many times what the stage takes on two cores.
    STAGES = [
      Stage.new("lint", "style (standardrb), syntax of the shell scripts", rake: ["lint"], deadline: 120, quick: true),
      Stage.new("generated", "generated files are what api/*.yml makes them", rake: ["generate:check"], deadline: 60, quick: true),
      Stage.new("docs", "everything public has a comment", rake: ["docs"], deadline: 120, quick: true),
      Stage.new("compile", "no warning, one exported symbol", rake: ["compile:strict"], deadline: 180, quick: true),
      Stage.new("harness", "the test harness finds what it shall find", files: "test/support/**/*_test.rb", deadline: 120, quick: true),
      Stage.new("conformance", "the public API", files: "test/conformance/**/*_test.rb", deadline: 300, quick: true),
      Stage.new("native", "the C extension", files: "test/native/**/*_test.rb", deadline: 240),
      Stage.new("cli", "the command line", files: "test/cli/**/*_test.rb", deadline: 120),
      Stage.new("interop", "with pyzmq", files: "test/interop/**/*_test.rb", deadline: 180),
      Stage.new("process", "fork, exit, signals, kills", files: "test/process/**/*_test.rb", deadline: 240),
      Stage.new("stress", "many threads and fibers, short form", files: "test/stress/**/*_test.rb", deadline: 300),
      Stage.new("stress one core", "the same on one core", files: "test/stress/**/*_test.rb", deadline: 300,
        prefix: ["taskset", "-c", "0"]),
      Stage.new("no takeover", "conformance with Ruby's send, << and recv instead of the extension's", files: "test/conformance/**/*_test.rb",
        deadline: 300, env: {"GODWIT_NO_TAKEOVER" => "1"}),
      Stage.new("gc stress", "conformance and native under GC.stress, the classes that say so", files: "test/{conformance,native}/**/*_test.rb",
        deadline: 300, env: {"GODWIT_TEST_GC" => "stress"}),
      Stage.new("gc shuffle", "native with every object moved and all references checked before each test", files: "test/native/**/*_test.rb",
        deadline: 300, env: {"GODWIT_TEST_GC" => "shuffle"}),
      Stage.new("memory", "valgrind over a few files; memory that must not grow, short forms", rake: ["memory:short", "soak:short"], deadline: 300),
      Stage.new("documentation", "the examples in README.md and docs/ do what they say", files: "test/docs/**/*_test.rb", deadline: 120),
      Stage.new("demo", "bin/demo's scenes end well", rake: ["demo"], deadline: 120),
      Stage.new("package", "the built gem installs and runs away from the checkout", rake: ["package:check"], deadline: 180),
      Stage.new("bench", "the benchmarks run (no numbers)", rake: ["bench"], deadline: 300, env: {"BENCH_QUICK" => "1"})
    ].freeze
  end
end
