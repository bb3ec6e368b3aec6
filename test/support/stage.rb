# frozen_string_literal: true

require "fileutils"
require "io/wait"
require "json"
require "rbconfig"
require "zlib"
require_relative "../../rakelib/support/jruby"

module Godwit
  module TestSupport
    # One stage of bin/test: a child process in its own group, with a deadline.
    class Stage
      # The result of a stage.
      Outcome = Struct.new(
        :passed, :failed, :skipped, :failures, :skips, :seconds, keyword_init: true
      )

      # A requirement of a stage is missing.
      class PreparationError < StandardError; end

      ROOT = File.expand_path("../..", __dir__)
      LOGS = File.join(ROOT, "tmp/test")
      READ = 65_536
      DEADLINE = 3_600 # seconds for a stage: ends a hang that the tests' watchdog does not end
      # Ruby 3.1 may read a heap page after compaction has released it, and crash (ADR 23).
      KEEP_PAGES = {"RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO" => "1.0"}.freeze
      PREPARING = Mutex.new # one stage prepares at a time: several may need the same build

      Settings = Struct.new(
        :quick, :work, :rake, :files, :prefix, :jruby, :alone, :prepare, :missing, :transport,
        :compacts, :full, keyword_init: true
      )

      attr_reader :name, :about, :outcome

      # @param env [Hash{String => String}] environment of the tests
      # @param files [String, nil] glob of the test files; without it `rake` names the tasks to run
      # @param prefix [Array<String>, nil] start of the command line
      # @param work whether the stage tests the gem godwit-work, in work/
      # @param jruby whether JRuby runs the files
      # @param alone whether the stage writes files that other stages read, and so runs alone
      # @param prepare [#call, nil] prepares the stage, and returns more of the environment; its
      #   error fails the stage
      # @param missing [#call, nil] returns the reason why this system cannot run the stage, or nil
      # @param transport [Symbol, nil] the transport that each_transport uses in the gate; :any for
      #   a choice by the seed; nil for all
      # @param compacts whether the collector moves objects in the gate too, as in `--full`
      # @param full [Array<String>, nil] globs: the gate runs the stage only when a changed path
      #   matches one; nil: always
      def initialize(name, about, env: {}, **settings)
        @name = name
        @about = about
        @env = env
        @settings = Settings.new(**settings)
        @glob = @settings.files
      end

      def quick? = !!@settings.quick

      def work? = !!@settings.work

      def alone? = !!@settings.alone

      # @param changes [Changes]
      # @return [Boolean] whether a changed path makes the gate run this stage
      def touched?(changes) = changes.any?(@settings.full)

      # @param seed [Integer] of the random order of the tests
      # @param out [IO] the stage's output
      # @param long [Boolean] all transports, all files, long rounds
      # @return [Outcome]
      def run(seed, out: $stdout, long: false)
        started = monotonic
        @out = out
        @env = environment(seed, long: long) if @glob
        @outcome = (reason = why_not) ? not_run(reason) : start(seed)
        @outcome.seconds = monotonic - started
        @outcome
      end

      # @return [Array<String>] paths of its test files
      def files = @files ||= @glob ? Dir.glob(@glob, base: ROOT).sort : []

      # @return [Array<String>] the command that runs the stage, or only the given test files of it
      def command(seed, files = self.files)
        rake = @settings.rake
        return [*@settings.prefix, RbConfig.ruby, "-S", "rake", *rake] if rake
        load_all = "ARGV.shift(#{files.size}).each { |file| require file }"
        [
          *@settings.prefix, *ruby, *folders.map { |folder| "-I#{folder}" }, "-e", load_all,
          *files.map { |file| "./#{file}" }, "--seed", seed.to_s
        ]
      end

      # @return [Hash{String => String}] the command's environment, which chooses the tests that run
      def environment(seed, long: false) = scope(seed, long).merge(@env)

      private

      def scope(seed, long)
        return {"GODWIT_TEST_LONG" => "1"} if long
        scope = @settings.compacts ? {} : {"GODWIT_TEST_GC" => "none"}
        transport = @settings.transport or return scope
        one = %w[tcp ipc inproc][(seed + Zlib.crc32(name)) % 3] if transport == :any
        scope.merge("GODWIT_TEST_TRANSPORT" => one || transport.to_s)
      end

      def why_not
        return "no file matches #{@glob}" if @glob && files.empty?
        return JRuby.missing if @settings.jruby && JRuby.missing
        reason = @settings.missing&.call
        return reason if reason
        program = @settings.prefix&.first
        return if program.nil? || system("command -v #{program} >/dev/null 2>&1")
        "#{program} is not installed"
      end

      def folders = %w[lib test] + (work? ? %w[work/lib work/test] : [])

      def ruby = @settings.jruby ? JRuby.command(java: JRuby.short) : [RbConfig.ruby]

      def start(seed)
        FileUtils.mkdir_p(LOGS)
        @log = path("log")
        @report = path("json")
        @now = path("now")
        FileUtils.rm_f([@report, @now])
        prepare = @settings.prepare
        @env = @env.merge(PREPARING.synchronize { prepare.call }) if prepare
        if @settings.jruby
          PREPARING.synchronize { JRuby.prepare }
          @env = @env.merge(JRuby.testing)
        end
        spawn_and_follow(command(seed))
        judge
      rescue PreparationError => error
        @out.puts error.message
        empty.tap { |outcome| add_failure(outcome, error.message) }
      end

      def path(ending) = File.join(LOGS, "#{@name.tr(" ", "-")}.#{ending}")

      def spawn_and_follow(command)
        reader, writer = IO.pipe
        env = {"GODWIT_TEST_REPORT" => @report, "GODWIT_TEST_NOW" => @now}.merge(
          collector_moves? ? KEEP_PAGES : {}, @env
        )
        @pid =
          Process.spawn(
            env, *command, in: File::NULL, out: writer, err: writer, pgroup: true, chdir: ROOT
          )
        writer.close
        @status = nil
        File.open(@log, "wb") { |log| follow(reader, log, monotonic + DEADLINE) }
      ensure
        end_group if @pid && !@status
        reader.close
      end

      # Whether objects move: by the GC level, or because a test compacts. Only then Ruby keeps all
      # heap pages (KEEP_PAGES), which slows down the stage's later tests.
      def collector_moves?
        return false unless @glob
        @env["GODWIT_TEST_GC"] != "none" || files.any? do |file|
          File.read(File.join(ROOT, file)).match?(/GC\.compact|auto_compact|verify_compaction/)
        end
      end

      # Prints the stage's output and appends it to the log, until the stage ends or its time is up.
      def follow(reader, log, finish)
        until @status
          return end_late(reader, log) if monotonic > finish
          copy(reader, log, 0.1)
          _, @status = Process.wait2(@pid, Process::WNOHANG)
        end
        nil while copy(reader, log, 0)
      end

      def copy(reader, log, seconds)
        # The process has closed its output, but has not ended.
        return !!IO.select(nil, nil, nil, [seconds, 0.01].min) if @ended
        return false unless reader.wait_readable(seconds)
        text = reader.read_nonblock(READ)
        log.write(text)
        @out.write(text)
        @out.flush
        true
      rescue IO::WaitReadable
        false
      rescue EOFError
        @ended = true
        false
      end

      def end_late(reader, log)
        @late = true
        @out.puts "",
          "#{@name} is not done after #{DEADLINE} s. Asking for a thread dump, then killing it."
        @out.puts "Test: #{running}"
        Process.kill(:QUIT, @pid)
        patience = monotonic + 3
        copy(reader, log, 0.1) until @ended || monotonic > patience
      end

      def running = File.exist?(@now.to_s) ? File.read(@now) : "unknown"

      # The stage's process and all its descendants, also those in other process groups.
      # @return [Array<Integer>]
      def family
        parents = Dir["/proc/[0-9]*/stat"].to_h do |file|
          fields = File.read(file).rpartition(")").last.split
          [file[/\d+/].to_i, fields[1].to_i]
        rescue SystemCallError
          [0, 0]
        end
        found = [@pid]
        found.each { |pid| found.concat(parents.select { |_, parent| parent == pid }.keys) }
        found
      end

      def end_group
        family.reverse_each { |pid| kill(pid) }
        kill(-@pid)
        _, @status = Process.wait2(@pid) unless @status
      rescue Errno::ECHILD
        nil
      end

      def kill(pid)
        Process.kill(:KILL, pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil
      end

      def judge
        return judge_command unless @glob
        return crashed unless File.exist?(@report)
        seen = JSON.parse(File.read(@report), symbolize_names: true)
        outcome = Outcome.new(**seen.slice(:passed, :failed, :skipped, :failures, :skips))
        # The report says success but the exit status does not: the process crashed at its exit.
        add_failure(outcome, ending) if !@status.success? && outcome.failed.zero?
        if (outcome.passed + outcome.failed + outcome.skipped).zero?
          not_run("none of its files has a test for it")
        else
          outcome
        end
      end

      def judge_command
        outcome = empty
        @status.success? ? outcome.passed = 1 : add_failure(outcome, ending)
        outcome
      end

      def crashed
        empty.tap { |outcome| add_failure(outcome, "#{ending}; test: #{running}") }
      end

      def ending
        return "killed after #{DEADLINE} s" if @late
        if @status.signaled?
          "ended by SIG#{Signal.signame(@status.termsig)}"
        else
          "ended with status #{@status.exitstatus}"
        end
      end

      def add_failure(outcome, text)
        outcome.failed += 1
        outcome.failures << {name: @name, text: text}
      end

      def not_run(reason)
        empty.tap do |outcome|
          outcome.skipped = 1
          outcome.skips << {name: "stage #{@name}", text: reason}
        end
      end

      def empty
        Outcome.new(passed: 0, failed: 0, skipped: 0, failures: [], skips: [])
      end

      def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
