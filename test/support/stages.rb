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

    # Without C of ours there is nothing that the collector could move away from under it.
    FFI = {"GODWIT_BACKEND" => "ffi", "GODWIT_TEST_GC" => "none"}.freeze

    # Of conformance, what asks nothing of libzmq that other files do not; and what sends little or nothing.
    NO_LIBZMQ = "beacon*,curve_keys,errors_table,loop*,timers"
    NO_MESSAGES = "context,endpoint*,library,limits,monitor*,option*,poller,wait_connected"

    # Quickest first. A deadline is many times what the stage takes on two cores.
    STAGES = [
      Stage.new("lint", "style (standardrb), syntax of the shell scripts", rake: ["lint"], deadline: 120, quick: true),
      Stage.new("generated", "generated files are what api/*.yml makes them, README.md's figures what the benchmarks wrote", rake: ["generate:check", "readme:check"], deadline: 60, quick: true),
      Stage.new("docs", "everything public has a comment", rake: ["docs"], deadline: 120, quick: true),
      Stage.new("compile", "no warning, one exported symbol", rake: ["compile:strict"], deadline: 180, quick: true, alone: true),
      Stage.new("harness", "the test harness finds what it shall find", files: "test/support/**/*_test.rb", deadline: 120, quick: true),
      Stage.new("signatures", "sig/ and the library name the same, and a wrong type is seen", files: "test/types/**/*_test.rb", deadline: 240, quick: true),
      Stage.new("conformance", "the public API", files: "test/conformance/**/*_test.rb", deadline: 300, quick: true),
      Stage.new("ffi", "the public API on the FFI backend", files: "test/{conformance,waits,ffi}/**/*_test.rb", deadline: 300, env: FFI),
      Stage.new("compat rbczmq", "programs written for rbczmq run as they are", files: "test/compat/rbczmq/**/*_test.rb", deadline: 300),
      Stage.new("compat rbczmq ffi", "the same on the FFI backend", files: "test/compat/rbczmq/**/*_test.rb", deadline: 300, env: FFI),
      Stage.new("compat rbczmq jruby", "the same on JRuby", files: "test/compat/rbczmq/**/*_test.rb", deadline: 600, jruby: true),
      Stage.new("compat rbczmq gc", "the same under GC.stress", files: "test/compat/rbczmq/**/*_test.rb", deadline: 300, env: {"GODWIT_TEST_GC" => "stress"}),
      Stage.new("jruby", "the public API on JRuby", files: "test/{conformance,waits,ffi}/**/*_test.rb", deadline: 600, jruby: true),
      Stage.new("draft", "what libzmq does of the public API, on one with drafts (built first when it is not there: a minute)",
        files: "test/{conformance/**/*_test,native/draft_*_test}.rb", except: "test/conformance/{#{NO_LIBZMQ}}_test.rb", deadline: 300, prepare: DRAFTS),
      Stage.new("ffi draft", "draft types, and what else is otherwise on a libzmq with drafts, on the FFI backend",
        files: "test/{conformance/{draft,monitor,monitor_forms,monitor_handshakes,context,options,frame,poller,wait_connected}_test,native/draft_waits_test,ffi/draft_waits_test}.rb",
        deadline: 300, prepare: -> { DRAFTS.call.merge(FFI) }),
      Stage.new("jruby draft", "draft types on JRuby", files: "test/conformance/{draft,monitor_forms}_test.rb", deadline: 300, jruby: true, prepare: DRAFTS),
      # Early for its size: it would be the last to end.
      Stage.new("types", "conformance, the command line and Shell, with every call compared with its type in sig/", files: "test/{conformance/**/*,cli/**/*,shell/{bridges,push_pull,status,stream,streams}}_test.rb", deadline: 600,
        env: {"GODWIT_TEST_TYPES" => "1", "GODWIT_TEST_GC" => "none"}),
      Stage.new("native", "the C extension", files: "test/{native,waits}/**/*_test.rb", deadline: 240),
      Stage.new("cli", "the command line", files: "test/cli/**/*_test.rb", deadline: 120),
      Stage.new("interop", "with pyzmq and CZMQ", files: "test/interop/**/*_test.rb", deadline: 180),
      # A process each: two doors are two ZMQs.
      Stage.new("compat ffi-rzmq", "programs written for ffi-rzmq, through its door and with the gem", files: "test/compat/ffi_rzmq/*_test.rb", deadline: 600),
      Stage.new("compat ffi-rzmq ffi", "the door on the FFI backend", files: "test/compat/ffi_rzmq/{differences,waits,fork}_test.rb", deadline: 180,
        env: FFI),
      Stage.new("compat ffi-rzmq jruby", "the door on JRuby", files: "test/compat/ffi_rzmq/{differences,waits}_test.rb", deadline: 300, jruby: true),
      Stage.new("logger", "Godwit::Logger, its readers and the broadcaster, with kills, Ruby's own logger tests, ActiveSupport, rsyslog", files: "test/logger/**/*_test.rb", deadline: 300),
      # Without the files whose subject is not the backend: kills in the midst of writing, others' tests and programs, cost.
      Stage.new("logger ffi", "the same on the FFI backend, where it matters", deadline: 300, env: FFI,
        files: "test/logger/{broadcaster,control,drop_in,durable,durable_process,exit,fork,journal,ledger,old_writers,overflow,pipeline,reader,reading_process,sender,spool,threads,trap,wire,writer}_test.rb"),
      # What threads that run side by side, signals and waits can break; `rake jruby:logger` runs all files.
      Stage.new("logger jruby", "the same on JRuby, where it matters", deadline: 600, jruby: true,
        files: "test/logger/{broadcaster,control,overflow,reader,sender,threads,trap,writer}_test.rb"),
      Stage.new("shell", "Godwit::Shell, and what it leaves behind: nothing", files: "test/shell/**/*_test.rb", deadline: 300),
      Stage.new("shell ffi", "the same on the FFI backend", files: "test/shell/{bridges,interrupts,process,push_pull,rows,status,stopping,stream,streams,waits}_test.rb", deadline: 300, env: FFI),
      Stage.new("shell jruby", "the same on JRuby", files: "test/shell/{bridges,rows,status,stopping,stream,streams,waits}_test.rb", deadline: 600, jruby: true),
      Stage.new("guide", "examples/guide does what the Guide's patterns promise, with crashes in the middle", files: "test/guide/**/*_test.rb", deadline: 300),
      Stage.new("process", "fork, exit, signals, kills", files: "test/process/**/*_test.rb", deadline: 240),
      Stage.new("process ffi", "the same on the FFI backend", files: "test/process/**/*_test.rb", deadline: 300, env: FFI),
      Stage.new("process jruby", "exit, signals and kills on JRuby, which cannot fork", files: "test/process/{exit,signals}_test.rb", deadline: 600, jruby: true),
      Stage.new("stress", "many threads and fibers, short form", files: "test/stress/**/*_test.rb", deadline: 300),
      Stage.new("stress one core", "the same on one core", files: "test/stress/**/*_test.rb", deadline: 300,
        prefix: ["taskset", "-c", "0"]),
      Stage.new("stress jruby", "the same on JRuby, whose threads run truly side by side", files: "test/stress/**/*_test.rb", deadline: 600, jruby: true),
      Stage.new("stress ffi", "the same on the FFI backend of CRuby", files: "test/stress/**/*_test.rb", deadline: 300, env: FFI),
      Stage.new("no takeover", "what conformance sends, with Ruby's send, << and recv instead of the extension's",
        files: "test/conformance/**/*_test.rb", except: "test/conformance/{#{NO_LIBZMQ},#{NO_MESSAGES}}_test.rb", deadline: 300, env: {"GODWIT_NO_TAKEOVER" => "1", "GODWIT_TEST_GC" => "none"}),
      Stage.new("gc stress", "conformance and native under GC.stress, the classes that say so", files: "test/{conformance/**/*,native/**/*,shell/rows}_test.rb",
        deadline: 300, env: {"GODWIT_TEST_GC" => "stress"}),
      Stage.new("gc shuffle", "native with every object moved and all references checked before each test", files: "test/native/**/*_test.rb",
        deadline: 300, env: {"GODWIT_TEST_GC" => "shuffle"}),
      Stage.new("memory", "valgrind over a few files; memory that must not grow, short forms", rake: ["memory:short", "soak:short"], deadline: 300),
      Stage.new("documentation", "the examples in README.md and docs/ do what they say", files: "test/docs/**/*_test.rb", deadline: 120, prepare: DRAFTS_BUILT),
      Stage.new("demo", "bin/demo's scenes end well", rake: ["demo"], deadline: 120, alone: true),
      Stage.new("package", "the built gem installs and runs away from the checkout", rake: ["package:check"], deadline: 180, alone: true),
      Stage.new("bench", "the benchmarks run (no numbers)", rake: ["bench"], deadline: 300, env: {"BENCH_QUICK" => "1"}, alone: true)
    ].freeze
  end
end
