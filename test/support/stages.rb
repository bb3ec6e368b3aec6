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
    # @param what [String] the error's first words when the block fails
    # @yieldreturn [Hash, Object] a Hash is environment variables; any other value is ignored
    # @return [Proc] prepares a stage; its error fails the stage
    def self.preparation(what, &block)
      lambda do
        made = block.call
        made.is_a?(Hash) ? made : {}
      rescue DebianSource::Failure, BuildFolder::Failure => error
        raise Stage::PreparationError, "#{what}: #{error.message}"
      end
    end

    # Makes the extension load libzmq with drafts. Builds that libzmq unless it exists.
    DRAFTS = preparation("no libzmq with drafts") do
      library = [DraftLibrary.new.build, ENV["LD_LIBRARY_PATH"]].compact.join(":")
      {"LD_LIBRARY_PATH" => library, "GODWIT_TEST_DRAFT" => "1"}
    end
    # For a stage whose child processes load the libzmq with drafts.
    DRAFTS_BUILT = -> { {"GODWIT_DRAFT_LIBRARY" => DRAFTS.call.fetch("LD_LIBRARY_PATH")} }
    MRUBY = preparation("the mrbgem does not compile") { MRubyBuild.new.build }
    # Builds the nginx module, and fetches nginx and what its tests need.
    EDGE = preparation("the edge does not compile") { EdgeBuild.new.build }
    DEBIANS = preparation("no Debian") { Debians.prepare }
    # The newest release of librdkafka.
    NEWEST_LIBRDKAFKA = preparation("no newest librdkafka") do
      {"GODWIT_LIBRDKAFKA" => NewestLibrdkafka.path}
    end

    # Bundler hides the gem karafka-rdkafka, which is not in the bundle. Children run without
    # Bundler and find the gem by GEM_PATH.
    KAFKA = {
      "GEM_PATH" => ["#{Stage::ROOT}/vendor/kafka", *Gem.path].join(File::PATH_SEPARATOR),
      "GODWIT_LIBRDKAFKA" =>
        Dir["#{Stage::ROOT}/vendor/kafka/gems/karafka-rdkafka-*/ext/librdkafka.so"].max.to_s
    }.freeze
    # Compaction endangers only Godwit's C code, which these stages do not test.
    NO_GC = {"GODWIT_TEST_GC" => "none"}.freeze
    # Settings of the stages that run on another backend, Ruby or engine, or check types.
    SYSTEMS = {
      ffi: {env: NO_GC.merge("GODWIT_BACKEND" => "ffi")},
      jruby: {jruby: true},
      kafka: {work: true, env: KAFKA.merge("GODWIT_TEST_ENGINE" => "kafka")},
      # RBS checks the types of every call.
      types: {env: NO_GC.merge("GODWIT_TEST_TYPES" => "1")}
    }.freeze

    # @param on [Symbol, nil] a key of {SYSTEMS}
    # @param files [String] glob in test/ or work/test/, without its `_test.rb`
    # @param changes [String, nil] globs that become the `full` of the {Stage}
    # @param more [Hash] other settings of the {Stage}
    def self.stage(name, about, on: nil, files: nil, changes: nil, rake: nil, **more)
      more[:files] = "#{"test/" unless files.start_with?("work/")}#{files}_test.rb" if files
      Stage.new(name, about, rake: rake&.split, full: changes&.split, **SYSTEMS.fetch(on, {}),
        **more)
    end

    # @return [Array<Stage>] a stage on the FFI backend and one on JRuby, with the same files
    def self.stages_of_others(name, about, **more)
      {ffi: "the FFI backend", jruby: "JRuby"}.map do |system, title|
        stage("#{name} #{system}", "#{about} on #{title}", on: system, **more)
      end
    end

    # Files that run on Kafka as well. A test that cannot run there gives the reason by not_on.
    ON_KAFKA = "work/test/{kafka/*,log/{client,engine,file,groups,retention,traps}," \
      "consumer/{batches,cli,declarations,doctor,endings,failures,hooks,kills,odd_programs," \
      "operations,outputs,pause,processes,runner,silent,stuck}}"
    # The files of ON_KAFKA that every change of the engine, or of code above it, must pass.
    CORE_ON_KAFKA = "work/test/{kafka/{errors,groups,library,loading,native,old_brokers,producer," \
      "prototypes,settings,url},log/engine,consumer/{outputs,runner}}"
    WORK = "work/test/{*,consumer/**/*,log/**/*}"
    # Basic use of sockets: all that the gate runs on the FFI backend and on JRuby.
    SMOKE = "conformance/plain"

    # Tests of waiting, and of each backend's own code, for the FFI backend and JRuby.
    WAITS = "{{waits,ffi}/**/*,native/collection}"

    # A change of these paths makes the gate run those stages of `--full` that name C.
    C = "ext/** lib/godwit/backend/native.rb"
    BACKEND = "lib/godwit/backend/**"
    FFI_BACKEND = "lib/godwit/backend/ffi.rb lib/godwit/backend/ffi/**"
    ON_JRUBY = "#{FFI_BACKEND} lib/godwit/worker/jruby.rb".freeze
    RBCZMQ = "lib/godwit/compat/rbczmq.rb lib/godwit/compat/rbczmq/** test/compat/rbczmq/**"
    FFI_RZMQ =
      "lib/godwit/compat/ffi_rzmq.rb lib/godwit/compat/ffi_rzmq/** test/compat/ffi_rzmq/**"
    LOGGER = "lib/godwit/logger.rb lib/godwit/logger/** test/logger/**"
    PERF = "lib/godwit/perf.rb lib/godwit/perf/** lib/godwit/cli/perf/** test/perf/**"
    SHELL = "lib/godwit/shell/** test/shell/**"
    TIMED = "test/timing/** test/support/timed.rb"

    # The gate's stages: first the quick ones, then the others from the longest to the shortest.
    GATE = [
      stage("compile", "no warning, one exported symbol", rake: "compile:strict", quick: true),
      stage("generated", "generated files are what api/*.yml makes them, README.md's figures " \
        "what the benchmarks wrote", rake: "generate:check readme:check", quick: true),
      stage("lint", "style (standardrb; of the tests in --full), syntax of the shell scripts",
        rake: "lint", quick: true),
      stage("conformance", "the public API", files: "conformance/**/*", quick: true,
        transport: :any),
      stage("harness", "the test harness finds what it shall find", files: "support/**/*",
        quick: true),
      stage("signatures", "sig/ and the library name the same; everything public has a comment",
        files: "types/{signatures,comments}", quick: true),
      stage("logger", "Godwit::Logger, its readers and the broadcaster, with kills, Ruby's own " \
        "logger tests, ActiveSupport, rsyslog", files: "logger/**/*"),
      stage("native", "the C extension, and what ends a wait", files: "{native,waits}/**/*",
        compacts: true),
      stage("cli", "the command line", files: "cli/**/*"),
      stage("work", "the gem godwit-work", files: WORK, work: true),
      stage("edge", "Ruby inside nginx: requests, waits, Redis, ZeroMQ, faults, reloads",
        files: "edge/*", prepare: EDGE, missing: EdgeBuild.method(:missing)),
      stage("process", "fork, exit, signals, kills", files: "process/**/*"),
      stage("shell", "Godwit::Shell, and what it leaves behind: nothing", files: "shell/**/*"),
      # Without a broker, the tests that need one are skipped with a reason.
      stage("kafka", "the gem godwit-work on Kafka: records, groups, outputs, commands",
        on: :kafka, files: CORE_ON_KAFKA),
      stage("perf", "Godwit::Perf: histograms, and what it counts", files: "perf/**/*"),
      stage("interop", "with pyzmq and CZMQ", files: "interop/**/*", transport: :any),
      stage("guide", "examples/guide does what the Guide's patterns promise, with crashes in the " \
        "middle", files: "guide/**/*"),
      stage("demo", "bin/demo's scenes end well (short ones)", rake: "demo",
        env: {"BENCH_QUICK" => "1"}),
      stage("documentation", "the examples in README.md and docs/ do what they say",
        files: "docs/{edge_page,examples,install_page,mruby_page,monitor_page}"),
      stage("stress", "many threads and fibers, short form", files: "stress/**/*"),
      # "compat rbczmq" needs another process, since both layers define the module ZMQ.
      stage("compat ffi-rzmq", "programs written for ffi-rzmq, through its layer and with the gem",
        files: "compat/ffi_rzmq/*"),
      stage("package", "the built gem installs and runs away from the checkout",
        rake: "package:check"),
      stage("mruby", "the mrbgem: scenarios, allocation failures, valgrind, memory",
        files: "mruby/**/*", prepare: MRUBY, missing: MRubyBuild.method(:missing)),
      stage("compat rbczmq", "programs written for rbczmq run as they are",
        files: "compat/rbczmq/**/*"),
      stage("auth", "Godwit::Auth, certificates and key files, hostile input", files: "auth/**/*"),
      stage("smoke jruby", "a few sockets on JRuby", on: :jruby, files: SMOKE, transport: :any),
      stage("package parts", "the check of the platform gem, and the Debians, do what they shall",
        files: "package/parts/*"),
      stage("smoke ffi", "a few sockets on the FFI backend", on: :ffi, files: SMOKE,
        transport: :any),
      # The rake task `package:check` also runs these tests.
      stage("package native", "the platform gem, if it has been built, beside another libzmq",
        files: "package/one_process", missing: NativeGem.method(:unbuilt))
    ].freeze

    # The stages that `--full` adds: slow, repeated on other backends, or timed. Each names the
    # paths whose change adds it to the gate.
    FULL = [
      stage("draft",
        "what differs on a libzmq with drafts (built first when it is not there: a minute)",
        files: "{conformance/{draft,monitor,monitor_forms,options,library,constructors," \
          "frame,poller,wait_connected},native/draft_*,docs/draft_examples}",
        prepare: DRAFTS, transport: :any, changes: "lib/godwit/socket/drafts.rb ext/godwit/draft*"),
      stage("docs", "the reference that YARD makes: no warning, each link leads somewhere",
        rake: "docs", changes: ".yardopts rakelib/docs.rake"),
      stage("lint tests", "style of tests, benchmarks and examples", rake: "lint:tests",
        changes: "bench/** examples/** test/** work/test/**"),
      stage("package jruby", "JRuby's gem installs and runs away from the checkout",
        rake: "package:check_java", changes: "*.gemspec rakelib/package.rake"),
      stage("package debian",
        "the platform gem, if it has been built, and docs/install.md, on Debian 12 and 13",
        files: "package/{bare,choice,install_page}", prepare: DEBIANS,
        missing: -> { NativeGem.unbuilt || DebianRoot.missing },
        changes: "*.gemspec rakelib/support/debian_* rakelib/support/native_* test/package/** " \
          "docs/install.md"),
      stage("readme", "README's install lines, Gemfile and bin/demo on a bare Debian 12 and 13",
        files: "matrix/readme", missing: DebianRoot.method(:missing),
        changes: "test/matrix/readme_test.rb"),
      stage("ffi", "the public API and godwit perf on the FFI backend", on: :ffi,
        files: "{conformance/**/*,cli/perf}", transport: :any, changes: BACKEND),
      stage("jruby", "the public API on JRuby", on: :jruby, files: "conformance/**/*",
        transport: :any, changes: BACKEND),
      stage("jruby parts", "on JRuby: certificates, a reader and a writer of logs, godwit perf, " \
        "the compatibility layers' differences", on: :jruby,
        files: "{auth/{cert,cert_store,zpl},logger/{reader,writer},cli/perf,jruby/*}",
        changes: BACKEND),
      stage("types",
        "conformance, with every call compared with its type in sig/; a wrong type is seen",
        on: :types, files: "{conformance/**/*,types/wrong_types}", transport: :inproc,
        changes: "sig/** test/support/types.rb test/types/**"),
      stage("ffi waits", "what ends a wait, and what is the FFI backend's own", on: :ffi,
        files: WAITS, changes: "#{FFI_BACKEND} test/ffi/**"),
      stage("jruby waits", "what ends a wait on JRuby", on: :jruby, files: WAITS,
        changes: ON_JRUBY),
      *stages_of_others("compat rbczmq", "rbczmq's layer", files: "compat/rbczmq/**/*",
        changes: RBCZMQ),
      *stages_of_others("compat ffi-rzmq", "ffi-rzmq's layer",
        files: "compat/ffi_rzmq/{differences,waits}", changes: FFI_RZMQ),
      # Omits the files that do not depend on the backend: kills during a write, tests and programs
      # of other projects, cost.
      stage("logger ffi", "Godwit::Logger on the FFI backend, where it matters", on: :ffi,
        files: "logger/{broadcaster,control,drop_in,durable,durable_process,exit,journal," \
          "log_queue,overflow,reader,reading_process,receiver,sender,spool," \
          "threads,trap,wire,writer}", changes: LOGGER),
      *stages_of_others("perf", "Godwit::Perf and libzmq's perf tools",
        files: "{perf/**/*,cli/perf_tools}", changes: PERF),
      # Features that depend on parallel threads, signals and waits. `rake jruby:logger` runs all
      # files.
      stage("logger jruby", "Godwit::Logger on JRuby, where it matters", on: :jruby,
        files: "logger/{broadcaster,control,overflow,reader,sender,threads,trap,writer}",
        changes: LOGGER),
      stage("shell types",
        "the command line and Shell, with every call compared with its type in sig/", on: :types,
        files: "{cli/**/*,shell/{bridges,push_pull,status,stream,streams}}", changes: "sig/**"),
      stage("work types", "godwit-work, with every call compared with its type in work/sig/",
        on: :types, files: WORK, work: true, changes: "work/sig/**"),
      stage("work on kafka", "all tests of the stage work that can run on Kafka, and Kafka's own",
        on: :kafka, files: ON_KAFKA,
        changes: "work/lib/godwit/work/engine/kafka* work/test/support/kafka*"),
      stage("kafka newest", "the stage kafka on the librdkafka of today", on: :kafka,
        files: CORE_ON_KAFKA, prepare: NEWEST_LIBRDKAFKA,
        changes: "work/ext/** rakelib/support/newest_librdkafka.rb"),
      stage("kafka 848", "groups with the protocol of KIP-848, on the librdkafka of today",
        on: :kafka,
        files: "work/test/{kafka/groups,consumer/{failures,hooks,kills,outputs,pause,processes," \
          "runner}}", prepare: NEWEST_LIBRDKAFKA, changes: "rakelib/support/newest_librdkafka.rb",
        env: SYSTEMS[:kafka][:env].merge("GODWIT_TEST_GROUP_PROTOCOL" => "consumer")),
      stage("kafka failures",
        "on Kafka, under load: brokers and consumers that are killed, stopped and cut off",
        files: "work/test/kafka/failures/*", work: true, env: KAFKA,
        changes: "work/lib/godwit/work/engine/kafka* work/test/kafka/failures/**"),
      stage("work timing", "how soon consumers take over and end, and what they cost while idle",
        files: "timing/work/*", work: true, alone: true, changes: "test/timing/work/**"),
      stage("shell ffi", "Godwit::Shell on the FFI backend", on: :ffi, changes: SHELL,
        files: "shell/{bridges,interrupts,process,push_pull,rows,status,stopping,stream,streams," \
          "waits}"),
      stage("shell jruby", "Godwit::Shell on JRuby", on: :jruby, changes: SHELL,
        files: "shell/{bridges,rows,status,stopping,stream,streams,waits}"),
      stage("process ffi", "exit, signals, peers that vanish, on the FFI backend",
        on: :ffi, files: "process/{exit,mid_message,signals}", changes: FFI_BACKEND),
      stage("process jruby", "exit, signals and kills on JRuby, which cannot fork", on: :jruby,
        files: "process/{exit,signals}", changes: ON_JRUBY),
      stage("stress one core", "many threads and fibers on one core", files: "stress/**/*",
        prefix: %w[taskset -c 0], changes: "ext/godwit/wait.c ext/godwit/poller.c"),
      stage("stress jruby", "many threads on JRuby, which run truly side by side", on: :jruby,
        files: "stress/**/*", changes: ON_JRUBY),
      stage("stress ffi", "many threads and fibers on the FFI backend of CRuby", on: :ffi,
        files: "stress/**/*", changes: FFI_BACKEND),
      stage("gc stress", "conformance and native under GC.stress, the classes that say so",
        files: "{conformance/**/*,native/**/*,shell/rows}", env: {"GODWIT_TEST_GC" => "stress"},
        changes: C),
      stage("gc shuffle",
        "native with every object moved and all references checked before each test",
        files: "native/**/*", env: {"GODWIT_TEST_GC" => "shuffle"}, changes: C),
      stage("iruby", "the gem iruby on ffi-rzmq's layer", rake: "iruby",
        changes: "#{FFI_RZMQ} test/compat/iruby/**"),
      stage("memory", "valgrind over a few files; memory that must not grow, short forms",
        rake: "memory:short soak:short", changes: "#{C} test/memory/**"),
      stage("timing", "what must measure time: a call ends at once, linger, exit",
        files: "{timing,edge/timing}/*", alone: true, prepare: DRAFTS_BUILT, changes: TIMED),
      stage("timing ffi", "the same on the FFI backend", on: :ffi, files: "timing/*", alone: true,
        changes: "#{FFI_BACKEND} #{TIMED}"),
      # Omits the files that measure Ruby's start and exit, or processor time: on JRuby both are
      # mostly Java's.
      stage("timing jruby", "the same of waits, on JRuby", on: :jruby,
        files: "timing/{beacon,waits}", alone: true, changes: "#{ON_JRUBY} #{TIMED}"),
      stage("bench", "the benchmarks run (no numbers)", rake: "bench", env: {"BENCH_QUICK" => "1"},
        alone: true, changes: "bench/**")
    ].freeze
  end
end
