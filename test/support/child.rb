# frozen_string_literal: true

require "rbconfig"
require_relative "tmpfs"
require_relative "waiters"
require_relative "watchdog"

module Godwit
  module TestSupport
    # Child processes with a deadline, for tests that may crash, hang, fork or catch signals.
    module Children
      ROOT = File.expand_path("../..", __dir__)
      # The command that runs this Ruby. A JRuby in jars cannot tell its own command.
      RUBY = (
        (RUBY_ENGINE == "jruby") ? ENV.fetch("GODWIT_TEST_JRUBY").split("\n") : [RbConfig.ruby]
      ).freeze

      # Ruby's options for a program with gems (true) and without (false). A program with gems gets
      # only their paths, since RubyGems doubles the time to start, and Bundler adds three times as
      # much. JRuby brings its own gems; the FFI backend needs the gem ffi.
      GEMS = {
        true =>
          (RUBY_ENGINE == "jruby") ? [] :
            $LOAD_PATH.grep(%r{/gems/|/work/lib\z}).map { |folder| "-I#{folder}" },
        false =>
          (RUBY_ENGINE != "jruby" && ENV["GODWIT_BACKEND"] == "ffi") ? [] : ["--disable=gems"]
      }.freeze

      # The first words of a command line that runs tests.
      TESTS = [*RUBY, "--disable=gems", *GEMS[true], "-Ilib", "-Itest"].freeze

      # The first words of a command line that runs `godwit`.
      GODWIT = [*RUBY, *GEMS[false], "-W", "-Ilib", "exe/godwit"].freeze

      # Ruby's GC settings for this stage, without which compaction may crash Ruby 3.1 (ADR 23). Not
      # every child gets them: under -W Ruby prints them on $stderr.
      PAGES = {
        "RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO" => ENV.delete("RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO")
      }.compact.freeze

      # Seconds that this Ruby may take to start beside other work, on top of a child's deadline.
      START = (RUBY_ENGINE == "jruby") ? 30 : 0

      # How a child ended, and all that it wrote.
      Result = Struct.new(:status, :stdout, :stderr, :timed_out) do
        def success? = status.success? && !timed_out

        def inspect
          "#<#{timed_out ? "killed at its deadline" : status}\n-- stdout --\n#{stdout}-- stderr " \
          "--\n#{stderr}>"
        end
        alias_method :to_s, :inspect
      end

      # A running child.
      class Child
        attr_reader :pid, :stdin, :stdout, :stderr

        def initialize(command, env:, deadline:)
          # A separate process group: the child's own children end with the child, and a Ctrl-C for
          # the tests does not reach the child.
          begin_with(deadline, *IO.pipe, *IO.pipe) do |input, out, err|
            Process.spawn(env, *command, in: input, out: out, err: err, pgroup: true, chdir: ROOT)
          end
        end

        # Waits until the child has written this text to its standard output.
        # @param what [String, Regexp]
        # @param in_errors [Boolean] wait for the text on standard error instead
        def wait_for(what, in_errors: false)
          what = Regexp.new(Regexp.escape(what)) if what.is_a?(String)
          until (in_errors ? @stderr : @stdout).match?(what)
            if @open.empty? || !pump
              raise Minitest::Assertion, "the child never wrote #{what.inspect}: #{finish}"
            end
          end
          self
        end

        def signal(name)
          Process.kill(name, @pid)
          self
        end

        # Waits for the child's end. At its deadline the child prints its stacks and is killed.
        # @return [Result]
        def finish
          return @result if @result
          close_input
          in_time = pump until @open.empty? || in_time == false
          timed_out = in_time == false || !reap(@deadline)
          end_late if timed_out
          @open.each_key(&:close)
          kill_group # the child's own children may still run
          @result = Result.new(@status, @stdout, @stderr, timed_out)
        end

        def finished? = !@result.nil?

        # Whether the process has ended. Some of its output may still be unread.
        def ended? = File.read("/proc/#{@pid}/stat")[/\) (\S)/, 1] == "Z"

        private

        def close_input = @stdin.close

        # @yield starts the process, with its standard streams
        # @yieldreturn [Integer] the process id
        def begin_with(deadline, input, stdin, out, output)
          @deadline = monotonic + deadline
          @stdin, @out = stdin, out
          @err, errors = IO.pipe
          @stdout, @stderr = +"", +""
          @open = {@out => @stdout, @err => @stderr}
          @pid = yield input, output, errors
          [input, output, errors].uniq.each(&:close)
          @stdin.sync = true
        end

        # Appends new output to the buffers; returns false when the deadline has passed.
        def pump(until_time = @deadline)
          left = until_time - monotonic
          return false if left <= 0
          # IO.select may return early on JRuby, so the clock decides.
          readable, = IO.select(@open.keys, nil, nil, left)
          readable&.each { |io| take(io) }
          true
        end

        def take(io)
          @open.fetch(io) << io.read_nonblock(65_536)
        rescue IO::WaitReadable
          nil
        rescue EOFError, Errno::EIO # EIO: no process has the terminal open any more
          @open.delete(io)
          io.close
        end

        def reap(until_time)
          loop do
            return true if @status || (_, @status = Process.wait2(@pid, Process::WNOHANG))&.last
            return false if monotonic > until_time
            sleep(Waiters::POLL)
          end
        end

        def end_late
          unless @status
            Process.kill(:QUIT, @pid)
            patience = monotonic + 3 # seconds for the thread dump; bin/test gives a stage the same
            pump(patience) until @open.empty? || monotonic > patience
          end
          kill_group
          _, @status = Process.wait2(@pid) unless @status
          @stderr << "\n(killed at its deadline)\n"
        end

        def kill_group
          Process.kill(:KILL, -@pid)
        rescue Errno::ESRCH, Errno::EPERM
          nil
        end

        def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # Unsets these variables: with them a child loads Bundler, which takes a fifth of a second.
      NO_BUNDLER = {"RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil}.freeze

      # Starts a Ruby program with lib/ on its load path; with the bundle's gems when `gems` is
      # true.
      # @param program [String] source text, or the path of a .rb file under the project's root
      # @param deadline [Numeric] seconds after which the child is killed
      # @param network [Boolean] in a separate network (see {Network})
      # @return [Child]
      def start_child(program, args = [], deadline: 90, env: {}, gems: false, network: false,
        disk: nil)
        source = (program.end_with?(".rb") && !program.include?("\n")) ? [program] : ["-e", program]
        command = [
          *RUBY, *GEMS.fetch(gems), *child_folders.map { |folder| "-I#{folder}" },
          "-r./test/support/child_prelude", *source, *args.map(&:to_s)
        ]
        command = Network.command(*command) if network
        command = Tmpfs.command(*disk, *command) if disk
        start_command(command, deadline: deadline, env: PAGES.merge(env))
      end

      # Starts any command. Adds START seconds to the deadline, as for a Ruby child, since tests on
      # JRuby load the machine.
      def start_command(command, deadline: 90, env: {})
        Watchdog.allow(START)
        child = Child.new(command, env: NO_BUNDLER.merge(env), deadline: deadline + START)
        (@children ||= []) << child
        child
      end

      # Runs a Ruby program to its end.
      # @param signal [Symbol, nil] sent to the child once it has written the line "ready"
      # @param stdin [String, nil]
      # @return [Result] status, stdout, stderr
      def run_child(program, args = [], deadline: 90, signal: nil, stdin: nil, **options)
        child = start_child(program, args, deadline: deadline, **options)
        child.stdin.write(stdin) if stdin
        child.wait_for(/^ready$/).signal(signal) if signal
        child.finish
      end

      # @return [Array<String>] the load path of a Ruby child
      def child_folders = ["lib"]

      # Runs the command `godwit` in this process. A test that calls it requires "godwit/cli".
      # @return [Array(Integer, String, String)] status, output, errors
      def run_line(*words)
        status = nil
        out, err = capture_io { status = Godwit::CLI.run(words.map(&:to_s)) }
        [status, out, err]
      end

      # Asserts that `godwit` ends with this status and this error, and prints nothing else.
      # @param says [String, Regexp] what standard error must contain
      # @return [String] the whole standard error
      def assert_fails(status, says, *words)
        found, out, err = run_line(*words)
        assert_equal [status, ""], [found, out], words.join(" ")
        assert_match says, err, words.join(" ")
        err
      end

      # Asserts that `godwit` refuses each of these command lines with status 2 and its error.
      # @param command [Array<#to_s>] the words before those of each line
      # @param lines [Hash{Array<#to_s> => String}] words of a line => text of the error
      def assert_usage_errors(*command, lines)
        lines.each { |words, says| assert_fails(2, says, *command, *words) }
      end

      # Asserts that the child ended successfully, and shows its output if not.
      def assert_child(result)
        assert result.success?, result.to_s
        result
      end

      # Runs a program after the test class's PRELUDE, and asserts that it reaches its last line.
      # @return [Result]
      def assert_done(source, **options)
        result =
          assert_child(run_child("#{self.class::PRELUDE}\n#{source}\nputs 'done'", **options))
        assert_includes result.stdout, "done"
        result
      end

      private

      # @return [Array<String>] output of the children that still ran when the test ended
      def end_children
        (@children || []).reject(&:finished?).map do |child|
          Process.kill(:KILL, child.pid)
          result = child.finish
          "left a child process running: #{result}"
        end
      end
    end
  end
end
