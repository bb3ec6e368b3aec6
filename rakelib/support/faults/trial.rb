# frozen_string_literal: true

require "json"
require_relative "copy"
require_relative "draw"

module Faults
  # Runs test files against faults, in a copy that has all faults, each behind its switch. Two files
  # have what is known, so that an interrupted run goes on: reached.jsonl (which test comes to which
  # fault's line) and results.jsonl (which test file finds which fault).
  class Trial
    STAGES = [
      "conformance", "logger", "native", "cli", "work", "process", "shell", "perf", "auth",
      "compat ffi-rzmq", "compat rbczmq", "ffi", "ffi waits", "guide", "documentation", "stress",
      "interop", "no takeover"
    ].freeze
    SEED = 1 # of the order of the tests
    WHOLE = 4 # seconds: a test file that takes less always runs whole
    CELLS = 2_048

    # A test file in a stage.
    Unit = Struct.new(:stage, :file) do
      def name = /ffi\z|waits|takeover/.match?(stage.name) ? "#{file} (#{stage.name})" : file
    end

    # @param folder [String] absolute; it has all that this class writes
    # @param drawn [Array<Fault>]
    # @param stages [Array<TestSupport::Stage>]
    def initialize(folder, drawn, stages)
      @folder = folder
      @drawn = drawn
      @units = STAGES.map { |name| stages.find { |stage| stage.name == name } }
        .flat_map { |stage| stage.files.map { |file| Unit.new(stage, file) } }
      @reached = read("reached").to_h { |entry| [entry["unit"], entry] }
      @results = read("results")
      @copy = Copy.new("#{folder}/copy")
    end

    # @return [String, nil] the commit that is tried
    def commit = read("commit").dig(0, "commit")

    # @return [Array<Fault>] those whose lines the commit has
    def faults = @drawn.select { |fault| read("commit").dig(0, "faults").include?(fault.number) }

    # Makes the copy of a commit, with each fault behind its switch, unless it is there.
    def prepare(commit)
      return if self.commit
      FileUtils.rm_rf(@folder)
      FileUtils.mkdir_p(@folder)
      @copy.make(commit)
      FileUtils.cp(Dir["#{__dir__}/{recorder.rb,switch.h,gw_fault.c}"], "#{@copy.path}/tmp")
      sources = Draw.sources(@copy.path)
      before = sources.transform_values(&:dup)
      here = @drawn.select { |fault| fault.apply(sources) }
      sources.each { |path, lines| save(path, lines) if lines != before[path] }
      clear(0)
      compile
      note("commit", {"commit" => commit, "faults" => here.map(&:number)})
    end

    # Runs the test files that may find a fault: first those that are known to come to its line,
    # with a similar path. A file that is not known runs without a fault before.
    # @param stop [Integer, nil] so many files that find it are enough; nil: all files
    # @param budget [Numeric] seconds; when they are over, no further file starts
    # @yieldparam entry [Hash] a file's result
    def try(fault, stop:, budget:)
      finish = now + budget
      remaining(fault).each do |unit|
        found = results_of(fault).count { |result| result["found"] }
        break if now > finish || (stop && found >= stop)
        learn(unit)
        tests, cost = tests_for(unit, fault)
        next unless tests
        seconds, output, status = run(unit, fault.number, (3 * cost) + 20, tests: tests)
        entry = {"fault" => fault.number, "unit" => unit.name, "seconds" => seconds}
        @results << note("results", entry.merge("found" => verdict(output, status)))
        yield @results.last
      end
    end

    # @return [Array<Hash>] the results of the files that ran against a fault
    def results_of(fault) = @results.select { |result| result["fault"] == fault.number }

    # @return [Array<Unit>] files that may find a fault, and did not run against it
    def remaining(fault)
      done = results_of(fault).map { |result| result["unit"] }
      units = @units.reject { |unit| done.include?(unit.name) }
      units.select! { |unit| !known?(unit) || tests_for(unit, fault) }
      units.sort_by.with_index do |unit, index|
        [
          known?(unit) ? 0 : 1, -likeness(fault, unit),
          known?(unit) ? tests_for(unit, fault).last : index
        ]
      end
    end

    # Whether the file ran without a fault.
    def known?(unit) = @reached.key?(unit.name)

    private

    # Runs a test file without a fault, and notes which faults' lines its tests come to.
    def learn(unit)
      return if known?(unit)
      log = "#{@folder}/tests.jsonl"
      FileUtils.rm_f(log)
      seconds, output, status = run(unit, 0, 600, env: {"GW_REACHED" => log})
      warn "#{unit.name} fails without a fault:", output unless status&.success?
      @reached[unit.name] = note(
        "reached",
        {"unit" => unit.name, "passed" => !!status&.success?, "seconds" => seconds,
         "tests" => read("tests")}
      )
    end

    # @return [Array(Array<String>, Float), nil] the names of a file's tests that come to a fault's
    #   line (none: all tests), and the seconds that they take; nil: no test comes to it
    def tests_for(unit, fault)
      passed, seconds, all = @reached.fetch(unit.name).values_at("passed", "seconds", "tests")
      tests = all.select { |_, _, faults| faults.include?(fault.number) }
      return if tests.empty? || !passed
      return [[], seconds] if seconds < WHOLE || tests.first.first.empty?
      others = (all - tests).sum { |_, time, _| time }
      [tests.map(&:first), seconds - others]
    end

    # @return [String, nil] what found the fault
    def verdict(output, status)
      return "a hang" unless status
      output[/^found by (\S+)/, 1] || "the end of the process" unless status.success?
    end

    def run(unit, number, seconds, env: {}, tests: [])
      clear(number)
      command = unit.stage.command(SEED, [unit.file, "tmp/recorder.rb"])
      names = tests.map { |test| Regexp.escape(test) }.join("|")
      command.push("--name", "/\\A(?:#{names})\\z/") if tests.any?
      env = {**unit.stage.environment(SEED), "GW_SWITCH" => switch, **env}
      started = now
      output, status = @copy.call(*command, env: env, seconds: seconds)
      [(now - started).round(2), output, status]
    end

    # @return [Integer] how many words the two paths share, more if the tests name the faulty class
    def likeness(fault, unit)
      @texts ||= Hash.new { |texts, file| texts[file] = @copy.read(file) }
      name = File.basename(fault.path, ".*").split("_").map(&:capitalize).join
      named = @texts[unit.file].match?(/\b#{name}\b/i) ? 2 : 0
      named + (words(fault.path) & words(unit.file)).size
    end

    def words(path) = path.scan(/[a-z]+/) - %w[lib ext work test godwit rb c h]

    def switch = "#{@folder}/switch"

    # In place: processes map the file.
    def clear(number)
      File.write(switch, "", mode: "a")
      File.binwrite(switch, [number, *([0] * (CELLS - 1))].pack("S*"), 0)
    end

    # The switch comes behind Ruby's magic comment, and before all C.
    def save(path, lines)
      if path.end_with?(".rb")
        lines.insert(1, "require \"#{@copy.path}/tmp/gw_fault\"")
      else
        lines.unshift("#define GW_SWITCH \"#{switch}\"", "#include \"#{@copy.path}/tmp/switch.h\"")
      end
      @copy.write(path, "#{lines.join("\n")}\n")
    end

    def compile
      config = RbConfig::CONFIG
      commands = [
        [
          *config["CC"].split, "-O2", "-shared", "-fPIC", "-DGW_SWITCH=\"#{switch}\"",
          "-I#{config["rubyhdrdir"]}", "-I#{config["rubyarchhdrdir"]}",
          "tmp/gw_fault.c", "-o", "tmp/gw_fault.#{config["DLEXT"]}"
        ], %w[bundle exec rake compile]
      ]
      commands.each do |command|
        output, status = @copy.call(*command)
        abort output unless status.success?
      end
    end

    def read(name)
      path = "#{@folder}/#{name}.jsonl"
      File.exist?(path) ? File.readlines(path).map { |line| JSON.parse(line) } : []
    end

    def note(name, entry)
      File.write("#{@folder}/#{name}.jsonl", "#{JSON.generate(entry)}\n", mode: "a")
      entry
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
