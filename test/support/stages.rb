# frozen_string_literal: true

require_relative "../../rakelib/support/draft_library"
require_relative "stage"

module Godwit
  module TestSupport
    # Has the extension load the libzmq with drafts, which is built when it is not there.
    DRAFTS = lambda do
      {"LD_LIBRARY_PATH" => [DraftLibrary.new.build, ENV["LD_LIBRARY_PATH"]].compact.join(":"), "GODWIT_TEST_DRAFT" => "1"}
    rescue DraftLibrary::Failure => error
      raise Stage::PreparationError, "no libzmq with drafts: #{error.message}"
    end

    # For a stage whose children load it.
    DRAFTS_BUILT = -> { {"GODWIT_DRAFT_LIBRARY" => DRAFTS.call.fetch("LD_LIBRARY_PATH")} }

    # Quickest first. A deadline is many times what the stage takes on two cores.
    STAGES = [
      Stage.new("lint", "style (standardrb), syntax of the shell scripts", rake: ["lint"], deadline: 120, quick: true),
      Stage.new("generated", "generated files are what api/*.yml makes them", rake: ["generate:check"], deadline: 60, quick: true),
      Stage.new("docs", "everything public has a comment", rake: ["docs"], deadline: 120, quick: true),
      Stage.new("compile", "no warning, one exported symbol", rake: ["compile:strict"], deadline: 180, quick: true),
      Stage.new("harness", "the test harness finds what it shall find", files: "test/support/**/*_test.rb", deadline: 120, quick: true),
      Stage.new("signatures", "sig/ and the library name the same, and a wrong type is seen", files: "test/types/**/*_test.rb", deadline: 240, quick: true),
      Stage.new("conformance", "the public API", files: "test/conformance/**/*_test.rb", deadline: 300, quick: true),
      Stage.new("ffi", "the public API on the FFI backend", files: "test/{conformance,ffi}/**/*_test.rb", deadline: 300, env: {"GODWIT_BACKEND" => "ffi"}),
      Stage.new("draft", "the public API on a libzmq with drafts (built first when it is not there: a minute)",
        files: "test/{conformance/**/*_test,native/draft_*_test}.rb", deadline: 300, prepare: DRAFTS),
      Stage.new("native", "the C extension", files: "test/native/**/*_test.rb", deadline: 240),
      Stage.new("cli", "the command line", files: "test/cli/**/*_test.rb", deadline: 120),
      Stage.new("interop", "with pyzmq and CZMQ", files: "test/interop/**/*_test.rb", deadline: 180),
      Stage.new("process", "fork, exit, signals, kills", files: "test/process/**/*_test.rb", deadline: 240),
      Stage.new("stress", "many threads and fibers, short form", files: "test/stress/**/*_test.rb", deadline: 300),
      Stage.new("stress one core", "the same on one core", files: "test/stress/**/*_test.rb", deadline: 300,
        prefix: ["taskset", "-c", "0"]),
      Stage.new("no takeover", "conformance with Ruby's send, << and recv instead of the extension's", files: "test/conformance/**/*_test.rb",
        deadline: 300, env: {"GODWIT_NO_TAKEOVER" => "1"}),
      Stage.new("types", "conformance, and the command line, with every call compared with its type in sig/", files: "test/{conformance,cli}/**/*_test.rb", deadline: 600,
        env: {"GODWIT_TEST_TYPES" => "1"}),
      Stage.new("gc stress", "conformance and native under GC.stress, the classes that say so", files: "test/{conformance,native}/**/*_test.rb",
        deadline: 300, env: {"GODWIT_TEST_GC" => "stress"}),
      Stage.new("gc shuffle", "native with every object moved and all references checked before each test", files: "test/native/**/*_test.rb",
        deadline: 300, env: {"GODWIT_TEST_GC" => "shuffle"}),
      Stage.new("memory", "valgrind over a few files; memory that must not grow, short forms", rake: ["memory:short", "soak:short"], deadline: 300),
      Stage.new("documentation", "the examples in README.md and docs/ do what they say", files: "test/docs/**/*_test.rb", deadline: 120, prepare: DRAFTS_BUILT),
      Stage.new("demo", "bin/demo's scenes end well", rake: ["demo"], deadline: 120),
      Stage.new("package", "the built gem installs and runs away from the checkout", rake: ["package:check"], deadline: 180),
      Stage.new("bench", "the benchmarks run (no numbers)", rake: ["bench"], deadline: 300, env: {"BENCH_QUICK" => "1"})
    ].freeze
  end
end
