# frozen_string_literal: true

require_relative "../../rakelib/support/draft_library"
require_relative "../../rakelib/support/edge_build"
require_relative "../../rakelib/support/mruby_build"
require_relative "../../rakelib/support/native_gem"
require_relative "../../rakelib/support/newest_librdkafka"
require_relative "debians"
require_relative "stage"

module Godwit
  module TestSupport
    # Has the extension load the libzmq with drafts, which is built when it is not there.
    DRAFTS = lambda do
      library = [DraftLibrary.new.build, ENV["LD_LIBRARY_PATH"]].compact.join(":")
      {"LD_LIBRARY_PATH" => library, "GODWIT_TEST_DRAFT" => "1"}
    rescue DraftLibrary::Failure => error
      raise Stage::PreparationError, "no libzmq with drafts: #{error.message}"
    end

    # For a stage whose children load the library.
    DRAFTS_BUILT = -> { {"GODWIT_DRAFT_LIBRARY" => DRAFTS.call.fetch("LD_LIBRARY_PATH")} }

    # Builds the mrbgem for the system's mruby.
    MRUBY = lambda do
      MRubyBuild.new.build
      {}
    rescue MRubyBuild::Failure => error
      raise Stage::PreparationError, "the mrbgem does not compile: #{error.message}"
    end

    # Builds the nginx module, and fetches nginx and what its tests need.
    EDGE = lambda do
      EdgeBuild.new.build
      {}
    rescue EdgeBuild::Failure, DebianSource::Failure => error
      raise Stage::PreparationError, "the edge does not compile: #{error.message}"
    end

    DEBIANS = lambda do
      Debians.prepare
      {}
    rescue DebianRoot::Failure => error
      raise Stage::PreparationError, "no Debian: #{error.message}"
    end

    # Without C of ours there is nothing that the collector could move away from under it.
    FFI = {"GODWIT_BACKEND" => "ffi", "GODWIT_TEST_GC" => "none"}.freeze

    # Bundler hides the gem karafka-rdkafka, which the bundle does not have; children without
    # Bundler find it by GEM_PATH.
    KAFKA = {
      "GEM_PATH" => ["#{Stage::ROOT}/vendor/kafka", *Gem.path].join(File::PATH_SEPARATOR),
      "GODWIT_LIBRDKAFKA" =>
        Dir["#{Stage::ROOT}/vendor/kafka/gems/karafka-rdkafka-*/ext/librdkafka.so"].max.to_s
    }.freeze
    # The librdkafka of today.
    NEWEST_LIBRDKAFKA = lambda do
      {"GODWIT_LIBRDKAFKA" => NewestLibrdkafka.path}
    rescue NewestLibrdkafka::Failure => error
      raise Stage::PreparationError, "no newest librdkafka: #{error.message}"
    end
    # The files whose tests run on Kafka as well, or say by not_on why they do not.
    ON_KAFKA = "work/test/{kafka/*,log/{client,engine,file,groups,retention,traps}," \
      "consumer/{batches,cli,declarations,doctor,endings,failures,hooks,kills,odd_programs," \
      "operations,outputs,pause,processes,runner,silent,stuck}}_test.rb"
    # Those of them that guard each change of the engine and of what stands on it.
    CORE_ON_KAFKA = "work/test/{kafka/{errors,groups,library,loading,native,old_brokers,producer," \
      "prototypes,settings,url},log/engine,consumer/{outputs,runner}}_test.rb"
    WORK = "work/test/{*,consumer/**/*,log/**/*}_test.rb"

    CONFORMANCE = "test/conformance/**/*_test.rb"
    TIMING = "test/timing/*_test.rb"
    # What a program does on its first day, for the backends whose suites `--full` runs.
    SMOKE = "test/conformance/plain_test.rb"
    # The files that differ on a libzmq with drafts.
    WITH_DRAFTS =
      "test/conformance/{draft,monitor,monitor_forms,monitor_handshakes," \
      "context,options,option,library,constructors,frame,poller,wait_connected}_test.rb"

    # Paths whose change makes the gate run a stage of `--full`.
    C = %w[ext/** lib/godwit/backend/native.rb].freeze
    BACKEND = %w[lib/godwit/backend/**].freeze
    FFI_BACKEND = %w[lib/godwit/backend/ffi.rb lib/godwit/backend/ffi/**].freeze
    ON_JRUBY = [*FFI_BACKEND, "lib/godwit/worker/jruby.rb"].freeze
    RBCZMQ = %w[
      lib/godwit/compat/rbczmq.rb lib/godwit/compat/rbczmq/** test/compat/rbczmq/**
    ].freeze
    FFI_RZMQ = %w[
      lib/godwit/compat/ffi_rzmq.rb lib/godwit/compat/ffi_rzmq/** test/compat/ffi_rzmq/**
    ].freeze
    LOGGER = %w[lib/godwit/logger.rb lib/godwit/logger/** test/logger/**].freeze
    PERF = %w[lib/godwit/perf.rb lib/godwit/perf/** lib/godwit/cli/perf/** test/perf/**].freeze
    SHELL = %w[lib/godwit/shell/** test/shell/**].freeze
    TIMED = %w[test/timing/** test/support/timed.rb].freeze
    DRAFT = %w[lib/godwit/socket/drafts.rb ext/godwit/draft*].freeze

    # The gate's stages: the quick ones, then the others by their seconds, the longest first.
    GATE = [
      Stage.new(
        "compile", "no warning, one exported symbol", rake: ["compile:strict"], quick: true
      ),
      Stage.new(
        "generated",
        "generated files are what api/*.yml makes them, README.md's figures what the benchmarks " \
        "wrote",
        rake: %w[generate:check readme:check], quick: true
      ),
      Stage.new(
        "lint", "style (standardrb; of the tests in --full), syntax of the shell scripts",
        rake: ["lint"], quick: true
      ),
      Stage.new(
        "conformance", "the public API", files: CONFORMANCE, quick: true, transport: :any
      ),
      Stage.new(
        "harness", "the test harness finds what it shall find", files: "test/support/**/*_test.rb",
        quick: true
      ),
      Stage.new(
        "signatures", "sig/ and the library name the same; everything public has a comment",
        files: "test/types/{signatures,comments}_test.rb", quick: true
      ),
      Stage.new(
        "logger",
        "Godwit::Logger, its readers and the broadcaster, with kills, Ruby's own logger tests, " \
        "ActiveSupport, rsyslog",
        files: "test/logger/**/*_test.rb"
      ),
      Stage.new(
        "native", "the C extension, and what ends a wait",
        files: "test/{native,waits}/**/*_test.rb", compacts: true
      ),
      Stage.new("cli", "the command line", files: "test/cli/**/*_test.rb"),
      Stage.new("work", "the gem godwit-work", files: WORK, work: true),
      Stage.new(
        "edge", "Ruby inside nginx: requests, waits, Redis, ZeroMQ, faults, reloads",
        files: "test/edge/*_test.rb", prepare: EDGE, missing: EdgeBuild.method(:missing)
      ),
      Stage.new("process", "fork, exit, signals, kills", files: "test/process/**/*_test.rb"),
      Stage.new(
        "shell", "Godwit::Shell, and what it leaves behind: nothing",
        files: "test/shell/**/*_test.rb"
      ),
      # Without a broker those tests that need one are skipped, each with its reason.
      Stage.new(
        "kafka", "the gem godwit-work on Kafka: records, groups, outputs, commands",
        files: CORE_ON_KAFKA, work: true, env: KAFKA.merge("GODWIT_TEST_ENGINE" => "kafka")
      ),
      Stage.new(
        "perf", "Godwit::Perf: histograms, and what it counts", files: "test/perf/**/*_test.rb"
      ),
      Stage.new(
        "interop", "with pyzmq and CZMQ", files: "test/interop/**/*_test.rb", transport: :any
      ),
      Stage.new(
        "guide",
        "examples/guide does what the Guide's patterns promise, with crashes in the middle",
        files: "test/guide/**/*_test.rb"
      ),
      Stage.new(
        "demo", "bin/demo's scenes end well (short ones)", rake: ["demo"],
        env: {
          "BENCH_QUICK" => "1"
        }
      ),
      Stage.new(
        "documentation", "the examples in README.md and docs/ do what they say",
        files: "test/docs/{edge_page,examples,install_page,mruby_page,monitor_page}_test.rb"
      ),
      Stage.new("stress", "many threads and fibers, short form", files: "test/stress/**/*_test.rb"),
      # Not in one process with "compat rbczmq": both layers define ZMQ.
      Stage.new(
        "compat ffi-rzmq", "programs written for ffi-rzmq, through its layer and with the gem",
        files: "test/compat/ffi_rzmq/*_test.rb"
      ),
      Stage.new(
        "package", "the built gem installs and runs away from the checkout",
        rake: ["package:check"]
      ),
      Stage.new(
        "mruby",
        "the mrbgem: scenarios, allocation failures, valgrind, memory",
        files: "test/mruby/**/*_test.rb", prepare: MRUBY, missing: MRubyBuild.method(:missing)
      ),
      Stage.new(
        "compat rbczmq", "programs written for rbczmq run as they are",
        files: "test/compat/rbczmq/**/*_test.rb"
      ),
      Stage.new(
        "auth", "Godwit::Auth, certificates and key files, hostile input",
        files: "test/auth/**/*_test.rb"
      ),
      Stage.new(
        "smoke jruby", "a few sockets on JRuby", files: SMOKE, jruby: true, transport: :any
      ),
      Stage.new(
        "package parts", "the check of the platform gem, and the Debians, do what they shall",
        files: "test/package/parts/*_test.rb"
      ),
      Stage.new(
        "no takeover",
        "what sends and receives, with Ruby's send, << and recv instead of the extension's",
        files: "test/conformance/{plain,sending,receiving,timeouts}_test.rb",
        transport: :any,
        env: {
          "GODWIT_NO_TAKEOVER" => "1", "GODWIT_TEST_GC" => "none"
        }
      ),
      Stage.new(
        "smoke ffi", "a few sockets on the FFI backend", files: SMOKE, env: FFI, transport: :any
      ),
      # `rake package:check` checks it as well.
      Stage.new(
        "package native", "the platform gem, if it has been built, beside another libzmq",
        files: "test/package/one_process_test.rb", missing: NativeGem.method(:unbuilt)
      )
    ].freeze

    # The stages that `--full` adds: slow, repeated on other backends, or timed. Each names the
    # paths whose change adds it to the gate.
    FULL = [
      Stage.new(
        "draft",
        "what differs on a libzmq with drafts (built first when it is not there: a minute)",
        files: "{#{WITH_DRAFTS},test/native/draft_*_test.rb,test/docs/draft_examples_test.rb}",
        prepare: DRAFTS, transport: :any, full: DRAFT
      ),
      Stage.new(
        "docs", "the reference that YARD makes: no warning, each link leads somewhere",
        rake: ["docs"], full: %w[.yardopts rakelib/docs.rake]
      ),
      Stage.new(
        "lint tests", "style of tests, benchmarks and examples", rake: ["lint:tests"],
        full: %w[bench/** examples/** test/** work/test/**]
      ),
      Stage.new(
        "package jruby", "JRuby's gem installs and runs away from the checkout",
        rake: ["package:check_java"], full: %w[*.gemspec rakelib/package.rake]
      ),
      Stage.new(
        "package debian",
        "the platform gem, if it has been built, and docs/install.md, on Debian 12 and 13",
        files: "test/package/{bare,choice,install_page}_test.rb", prepare: DEBIANS,
        missing: -> { NativeGem.unbuilt || DebianRoot.missing },
        full: %w[*.gemspec rakelib/support/debian_* rakelib/support/native_* test/package/**
          docs/install.md]
      ),
      Stage.new(
        "readme", "README's install lines, Gemfile and bin/demo on a bare Debian 12 and 13",
        files: "test/matrix/readme_test.rb", missing: DebianRoot.method(:missing),
        full: %w[test/matrix/readme_test.rb]
      ),
      Stage.new(
        "ffi", "the public API and godwit perf on the FFI backend",
        files: "test/{conformance/**/*,cli/perf}_test.rb", env: FFI,
        transport: :any, full: BACKEND
      ),
      Stage.new(
        "jruby", "the public API on JRuby", files: CONFORMANCE, jruby: true, transport: :any,
        full: BACKEND
      ),
      Stage.new(
        "jruby parts",
        "on JRuby: certificates, a reader and a writer of logs, godwit perf, the compatibility " \
        "layers' differences",
        files: "test/{auth/{cert,cert_store,zpl},logger/{reader,writer},cli/perf,jruby/*}_test.rb",
        jruby: true, full: BACKEND
      ),
      Stage.new(
        "types",
        "conformance, with every call compared with its type in sig/; a wrong type is seen",
        files: "test/{conformance/**/*,types/wrong_types}_test.rb",
        transport: :inproc,
        env: {
          "GODWIT_TEST_TYPES" => "1", "GODWIT_TEST_GC" => "none"
        },
        full: %w[sig/** test/support/types.rb test/types/**]
      ),
      Stage.new(
        "ffi waits", "what ends a wait, and what is the FFI backend's own",
        files: "test/{waits,ffi}/**/*_test.rb", env: FFI, full: [*FFI_BACKEND, "test/ffi/**"]
      ),
      Stage.new(
        "jruby waits", "what ends a wait on JRuby", files: "test/{waits,ffi}/**/*_test.rb",
        jruby: true, full: ON_JRUBY
      ),
      Stage.new(
        "compat rbczmq ffi", "rbczmq's layer on the FFI backend",
        files: "test/compat/rbczmq/**/*_test.rb", env: FFI, full: RBCZMQ
      ),
      Stage.new(
        "compat rbczmq jruby", "rbczmq's layer on JRuby", files: "test/compat/rbczmq/**/*_test.rb",
        jruby: true, full: RBCZMQ
      ),
      Stage.new(
        "compat ffi-rzmq ffi", "ffi-rzmq's layer on the FFI backend",
        files: "test/compat/ffi_rzmq/{differences,waits,fork}_test.rb", env: FFI, full: FFI_RZMQ
      ),
      Stage.new(
        "compat ffi-rzmq jruby", "ffi-rzmq's layer on JRuby",
        files: "test/compat/ffi_rzmq/{differences,waits}_test.rb", jruby: true, full: FFI_RZMQ
      ),
      # Without the files whose subject is not the backend: kills during a write, foreign tests and
      # programs, cost.
      Stage.new(
        "logger ffi",
        "Godwit::Logger on the FFI backend, where it matters",
        env: FFI,
        files:
          "test/logger/{broadcaster,control,drop_in,durable,durable_process,exit,fork,journal," \
          "log_queue,old_writers,overflow,pipeline,reader,reading_process,receiver,sender,spool," \
          "threads,trap,wire,writer}_test.rb",
        full: LOGGER
      ),
      Stage.new(
        "perf ffi", "Godwit::Perf and libzmq's perf tools on the FFI backend",
        files: "test/{perf/**/*,cli/perf_tools}_test.rb", env: FFI, full: PERF
      ),
      Stage.new(
        "perf jruby", "Godwit::Perf and libzmq's perf tools on JRuby",
        files: "test/{perf/**/*,cli/perf_tools}_test.rb", jruby: true, full: PERF
      ),
      # Features that parallel threads, signals and waits can break; `rake jruby:logger` runs all
      # files.
      Stage.new(
        "logger jruby",
        "Godwit::Logger on JRuby, where it matters",
        jruby: true,
        files:
          "test/logger/{broadcaster,control,overflow,reader,sender,threads,trap,writer}_test.rb",
        full: LOGGER
      ),
      Stage.new(
        "shell types",
        "the command line and Shell, with every call compared with its type in sig/",
        files: "test/{cli/**/*,shell/{bridges,push_pull,status,stream,streams}}_test.rb",
        env: {
          "GODWIT_TEST_TYPES" => "1", "GODWIT_TEST_GC" => "none"
        },
        full: %w[sig/**]
      ),
      Stage.new(
        "work types", "godwit-work, with every call compared with its type in work/sig/",
        files: WORK, work: true,
        env: {
          "GODWIT_TEST_TYPES" => "1", "GODWIT_TEST_GC" => "none"
        },
        full: %w[work/sig/**]
      ),
      Stage.new(
        "work on kafka", "all tests of the stage work that can run on Kafka, and Kafka's own",
        files: ON_KAFKA, work: true, env: KAFKA.merge("GODWIT_TEST_ENGINE" => "kafka"),
        full: %w[work/lib/godwit/work/engine/kafka* work/test/support/kafka*]
      ),
      Stage.new(
        "kafka newest", "the stage kafka on the librdkafka of today",
        files: CORE_ON_KAFKA, work: true, env: KAFKA.merge("GODWIT_TEST_ENGINE" => "kafka"),
        prepare: NEWEST_LIBRDKAFKA,
        full: %w[work/ext/** rakelib/support/newest_librdkafka.rb]
      ),
      Stage.new(
        "kafka 848", "groups with the protocol of KIP-848, on the librdkafka of today",
        files: "work/test/{kafka/groups,consumer/{failures,hooks,kills,outputs,pause,processes," \
          "runner}}_test.rb",
        work: true, prepare: NEWEST_LIBRDKAFKA,
        env: KAFKA.merge("GODWIT_TEST_ENGINE" => "kafka",
          "GODWIT_TEST_GROUP_PROTOCOL" => "consumer"),
        full: %w[rakelib/support/newest_librdkafka.rb]
      ),
      Stage.new(
        "kafka failures",
        "on Kafka, under load: brokers and consumers that are killed, stopped and cut off",
        files: "work/test/kafka/failures/*_test.rb", work: true, env: KAFKA,
        full: %w[work/lib/godwit/work/engine/kafka* work/test/kafka/failures/**]
      ),
      Stage.new(
        "work timing", "how soon consumers take over and end, and what they cost while idle",
        files: "test/timing/work/*_test.rb", work: true, alone: true, full: %w[test/timing/work/**]
      ),
      Stage.new(
        "shell ffi",
        "Godwit::Shell on the FFI backend",
        env: FFI,
        full: SHELL,
        files:
          "test/shell/{bridges,interrupts,process,push_pull,rows,status,stopping,stream," \
          "streams,waits}_test.rb"
      ),
      Stage.new(
        "shell jruby", "Godwit::Shell on JRuby", jruby: true, full: SHELL,
        files: "test/shell/{bridges,rows,status,stopping,stream,streams,waits}_test.rb"
      ),
      Stage.new(
        "process ffi", "exit, signals, a fork, peers that vanish, on the FFI backend",
        files: "test/process/{exit,fork,signals,vanishing_peers}_test.rb", env: FFI,
        full: FFI_BACKEND
      ),
      Stage.new(
        "process jruby", "exit, signals and kills on JRuby, which cannot fork",
        files: "test/process/{exit,signals}_test.rb", jruby: true, full: ON_JRUBY
      ),
      Stage.new(
        "stress one core", "many threads and fibers on one core", files: "test/stress/**/*_test.rb",
        prefix: %w[taskset -c 0], full: %w[ext/godwit/wait.c ext/godwit/poller.c]
      ),
      Stage.new(
        "stress jruby", "many threads on JRuby, which run truly side by side",
        files: "test/stress/**/*_test.rb", jruby: true, full: ON_JRUBY
      ),
      Stage.new(
        "stress ffi", "many threads and fibers on the FFI backend of CRuby",
        files: "test/stress/**/*_test.rb", env: FFI, full: FFI_BACKEND
      ),
      Stage.new(
        "gc stress",
        "conformance and native under GC.stress, the classes that say so",
        files: "test/{conformance/**/*,native/**/*,shell/rows}_test.rb",
        env: {
          "GODWIT_TEST_GC" => "stress"
        },
        full: C
      ),
      Stage.new(
        "gc shuffle",
        "native with every object moved and all references checked before each test",
        files: "test/native/**/*_test.rb",
        env: {
          "GODWIT_TEST_GC" => "shuffle"
        },
        full: C
      ),
      Stage.new(
        "iruby", "the gem iruby on ffi-rzmq's layer", rake: ["iruby"],
        full: [*FFI_RZMQ, "test/compat/iruby/**"]
      ),
      Stage.new(
        "memory", "valgrind over a few files; memory that must not grow, short forms",
        rake: %w[memory:short soak:short], full: [*C, "test/memory/**"]
      ),
      Stage.new(
        "timing", "what must measure time: a call ends at once, linger, exit",
        files: "test/{timing,edge/timing}/*_test.rb",
        alone: true, prepare: DRAFTS_BUILT, full: TIMED
      ),
      Stage.new(
        "timing ffi", "the same on the FFI backend", files: TIMING, alone: true, env: FFI,
        full: [*FFI_BACKEND, *TIMED]
      ),
      # Without files that measure the start and the end of Ruby, or the processor's time, which is
      # Java's.
      Stage.new(
        "timing jruby", "the same of waits, on JRuby", files: "test/timing/{beacon,waits}_test.rb",
        jruby: true, alone: true, full: [*ON_JRUBY, *TIMED]
      ),
      Stage.new(
        "bench",
        "the benchmarks run (no numbers)",
        rake: ["bench"],
        env: {
          "BENCH_QUICK" => "1"
        },
        alone: true,
        full: ["bench/**"]
      )
    ].freeze
  end
end
