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
      "interop"
    ].freeze
    SEED = 1 # of the order of the tests
    TOGETHER = 15 # test files that run in one process
    SECONDS = 20 # of their tests
    HANG = 120 # seconds, more than the deadline of a test
    CELLS = 2_048

    # A test file in a stage.
    Unit = Struct.new(:stage, :file) do
      def name = /ffi\z|waits/.match?(stage.name) ? "#{file} (#{stage.name})" : file
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
      FileUtils.cp(Dir["#{__dir__}/{recorder.rb,switch.h}"], "#{@copy.path}/tmp")
      sources = Draw.sources(@copy.path)
      before = sources.transform_values(&:dup)
      here = @drawn.select { |fault| fault.apply(sources) }
      sources.each { |path, lines| save(path, lines) if lines != before[path] }
      clear(0)
      compile
      note("commit", {"commit" => commit, "faults" => here.map(&:number)})
    end

    # Runs the tests that come to a fault's line, the fastest files first. A file that is not known
    # runs without a fault before.
    # @param stop [Integer, nil] so many files that find it are enough, and files run together; nil:
    #   each file runs alone
    # @param budget [Numeric] seconds; when they are over, no further file starts
    # @yieldparam entry [Hash] a file's result
    def try(fault, stop:, budget:, &block)
      finish = now + budget
      until now > finish || (stop && results_of(fault).count { |one| one["found"] } >= stop)
        known, unknown = remaining(fault).partition { |unit| known?(unit) }
        return if known.empty? && unknown.empty?
        next learn(unknown.first) if known.empty?
        known.sort_by! { |unit| seconds(tests_for(unit, fault)) }
        known.select! { |unit| unit.stage == known.first.stage }
        sum = 0
        together = known.first(stop ? TOGETHER : 1).take_while do |unit|
          (sum += seconds(tests_for(unit, fault))) < SECONDS || unit == known.first
        end
        run_fault(fault, together).each(&block)
      end
    end

    # @return [Array<Hash>] the results of the files that ran against a fault
    def results_of(fault) = @results.select { |result| result["fault"] == fault.number }

    # @return [Array<Unit>] files that may find a fault, and did not run against it
    def remaining(fault)
      done = results_of(fault).map { |result| result["unit"] }
      units = @units.reject { |unit| done.include?(unit.name) }
      units.select { |unit| !known?(unit) || tests_for(unit, fault).any? }
    end

    # Whether the file ran without a fault.
    def known?(unit) = @reached.key?(unit.name)

    private

    # Runs a stage's test files without a fault, some in one process, and notes which faults' lines
    # their tests come to.
    def learn(unit)
      units = @units.select { |one| one.stage == unit.stage }.each_slice(TOGETHER)
        .find { |slice| slice.include?(unit) }
      log = "#{@folder}/tests.jsonl"
      FileUtils.rm_f(log)
      files = units.map(&:file)
      started = now
      output, status = run(unit.stage, files, 0, 1_800, env: {"GW_REACHED" => log})
      warn "#{files.join(" ")}: a failure without a fault:", output unless status&.success?
      loading, *tests = read("tests")
      loaded = loading&.fetch("faults") || []
      entry = {"start" => now - started - seconds(tests), "loading" => loaded}
      units.each do |one|
        own = tests.select { |test| test["file"] == one.file }
        @reached[one.name] = note("reached", "unit" => one.name, **entry, "tests" => own)
      end
    end

    # @return [Array<Hash>] results
    def run_fault(fault, units)
      tests = units.flat_map { |unit| tests_for(unit, fault) }
      limit = HANG + (5 * (@reached[units.first.name]["start"] + seconds(tests)))
      output, status = run(units.first.stage, units.map(&:file), fault.number, limit, tests: tests)
      found = finder(output, status)
      if found && units.size > 1
        file = tests.find { |test| test["name"] == found }&.fetch("file")
        # The process hung or ended in a test that it did not name.
        return run_fault(fault, units.first(1)) unless file
        units = units.select { |unit| unit.file == file }
      end
      units.map do |unit|
        note("results", "fault" => fault.number, "unit" => unit.name, "found" => found)
          .tap { |result| @results << result }
      end
    end

    # @return [Array<Hash>] those of a file's tests that come to a fault's line
    def tests_for(unit, fault)
      entry = @reached.fetch(unit.name)
      loading = entry["loading"].include?(fault.number)
      entry["tests"].select do |test|
        test["passed"] && (loading || test["faults"].include?(fault.number))
      end
    end

    def seconds(tests) = tests.sum { |test| test["seconds"] }

    # @return [String, nil] what found the fault
    def finder(output, status)
      return "a hang" unless status
      output[/^found by (\S+)/, 1] || "the end of the process" unless status.success?
    end

    def run(stage, files, number, seconds, env: {}, tests: [])
      clear(number)
      command = stage.command(SEED, [*files, "tmp/recorder.rb"])
      names = tests.map { |test| Regexp.escape(test["name"]) }.join("|")
      command.push("--name", "/\\A(?:#{names})\\z/") if tests.any?
      env = {**stage.environment(SEED), "GW_SWITCH" => switch, **env}
      @copy.call(*command, env: env, seconds: seconds)
    end

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
      extension = [
        *config["CC"].split, "-O2", "-shared", "-fPIC", "-DGW_RUBY", "-DGW_SWITCH=\"#{switch}\"",
        "-I#{config["rubyhdrdir"]}", "-I#{config["rubyarchhdrdir"]}", "-x", "c", "tmp/switch.h",
        "-o", "tmp/gw_fault.#{config["DLEXT"]}"
      ]
      [extension, %w[bundle exec rake compile]].each do |command|
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
