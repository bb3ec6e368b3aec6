# frozen_string_literal: true

require "pty" unless RUBY_ENGINE == "jruby"
%w[
  redirection plan system processes launch input stdin_writer source clock status job
  delivery stream push pull
].each { |name| require_relative "shell/#{name}" }
require_relative "shell/primitives" unless Godwit::BACKEND == :native
require_relative "shell/jruby" if RUBY_ENGINE == "jruby"

module Godwit
  # The output of commands, row by row. A row is read when the caller asks for it, and not stored.
  # When the caller wants no more rows, the command and all processes that it started are stopped.
  #
  # Each command leads a process group. The group gets TERM, and KILL after `grace:`, when the block
  # ends early (`break`, an exception, `Thread#kill`, a Timeout), at the command's own end (for
  # processes in its background), when its {Stream} is closed or collected, and at exit. Processes
  # that left the group (`setsid`, daemons) get no signal. After `exit!`, `Process.daemon` or
  # `kill -9` of this process a command ends at its next write, once no forked child has the pipe.
  #
  # Ctrl-C reaches this process alone. When a SignalException such as Interrupt ends the block, the
  # command gets that signal first. Godwit changes no signal handler; a handler may pass the signal
  # on with {Shell.signal}.
  #
  # Shell works in threads, under a fiber scheduler, and in forked children (which do not touch the
  # parent's commands); in the main Ractor only, not in trap handlers. Thread#kill, Thread#raise,
  # Timeout and signals end all waits at once. Shell sets `$?` as Ruby's own methods do.
  #
  # @example
  #   Godwit::Shell.rows("find", "/", "-name", "*.rb") { |row| puts row; break if enough }
  #   Godwit::Shell.rows("find / 2>/dev/null", shell: true).lazy.grep(/test/).first(10)
  #   status = Godwit::Shell.run("make", err: :tail, timeout: 600) { |row| log << row }
  #   Godwit::Shell.pipe(%w[find / -type f -print0], %w[xargs -0 wc -c]).each { |row| puts row }
  module Shell
    if BACKEND == :native
      Primitives = Backend::Native # has in C the methods of shell/primitives.rb
      private_constant :Primitives
    end

    module_function

    # The rows of a command's stdout. The command's failure is no error here: see `status`.
    # @param command [Array<String>] program and arguments, one by one or as one Array; no shell
    #   reads them. With `shell: true` one String. A Hash before them holds variables, as `env:`
    # @param options [Hash] of the following
    # @option options [Boolean] :shell (false) whether the command is one String for /bin/sh
    # @option options [Hash{String => String, nil}] :env variables on top of this process's; nil
    #   removes one
    # @option options [Boolean] :unsetenv_others (false) whether the command gets only `env:`
    # @option options [String, Pathname, Dir] :chdir the folder in which the command runs
    # @option options [String, Pathname, IO, #read, #each] :input (nothing) its stdin: a Pathname is
    #   a file to open; the command itself reads an IO, from the offset that Ruby has reached; a
    #   thread writes a String, or the bytes of another object: of `read(bytes)` until nil, or of
    #   `each` (rows of a Stream with their separator, messages as lines). Unread input is no error
    # @option options [Symbol, Proc, Pathname, IO, #write] :err (:inherit) its stderr: `:inherit`,
    #   `:merge` with stdout, `:discard`, `:tail` (the status has the last 64 KiB), `:rows` (yields
    #   `[:out, row]` and `[:err, row]`), a Proc that gets each row, a Pathname as a file to create
    #   or empty, an IO to which the command writes, or an object whose `write` gets the bytes. In a
    #   pipeline it is the stderr of all stages
    # @option options [String, :chunk] :sep ("\n") the end of a row, such as "\0"; `:chunk` yields
    #   the bytes of each read, cut between characters of UTF-8
    # @option options [Boolean] :chomp (true) whether rows come without `sep:`, and without a "\r"
    #   before "\n"
    # @option options [Integer] :limit (1 MiB) most bytes of a row without its `sep:`, 1 or more
    # @option options [Symbol] :long (:raise) for longer rows: `:raise`, `:split` into several,
    #   `:cut` to the limit, between characters of UTF-8
    # @option options [Encoding, String] :encoding (Encoding.default_external) of the rows
    # @option options [Boolean] :reuse (false) yield one String again and again, which holds the row
    #   until the block ends: no allocation per row
    # @option options [Numeric] :timeout seconds for the whole run; then the command is stopped, the
    #   rows end, and `status.timed_out` is :timeout
    # @option options [Numeric] :idle seconds to wait for one row; then as at `timeout:`
    # @option options [Numeric] :grace (2) seconds between TERM and KILL
    # @option options [Numeric] :drain (1) seconds without output to wait when the command has ended
    #   and another process holds its stdout open; then `status.truncated?` is true. nil: for ever
    # @option options [Boolean] :pty (false) whether the command gets its own terminal, so that it
    #   writes each line at once; rows are its stdout and stderr. Not on JRuby
    # @option options [Integer, Array<Integer>] :ok ([0]) exit statuses that are no failure
    # @option options [Integer] :umask as Process.spawn
    # @option options [Boolean] :foreground (false) whether the command has this process's terminal
    #   and stdin (for `ssh`, `sudo`, `less`): it stays in this process's group, so that Ctrl-C and
    #   Ctrl-Z reach both processes; Godwit's own signals go to the command alone
    # @yieldparam row [String]
    # @return [Stream, Status] without a block, with one
    # @raise [StateError] when the command uses the terminal without `foreground: true`
    # @raise [SystemCallError] such as Errno::ENOENT naming the program or the folder
    # @raise [ArgumentValueError, ArgumentTypeError] naming the argument
    # @raise [RowTooLongError]
    def rows(*command, **options, &block)
      stream = Stream.new(Plan.new(:rows, [command], options))
      block ? stream.each(&block) : stream
    end

    # Runs a command to its end, and raises when it failed. Without a block the command writes to
    # this process's stdout.
    # @param command [Array<String>] as {rows}
    # @param options [Hash] as {rows}
    # @yieldparam row [String]
    # @return [Status]
    # @raise [CommandError] for an exit status other than 0, a signal, a time-out, or an unknown
    #   status ({Status#unknown?}); not for a command that the block stopped
    # @raise [SystemCallError, ArgumentValueError, ArgumentTypeError, RowTooLongError] as {rows}
    def run(*command, **options, &block)
      stream = Stream.new(Plan.new(:run, [command], options, outward: block.nil?))
      status = stream.each(&block || proc {})
      raise CommandError.of(status) unless status.success? || status.stopped?
      status
    end

    # Runs a command to its end, and gives all its output. The command's failure is no error here:
    # see the status.
    # @param command [Array<String>] as {rows}
    # @param options [Hash] as {rows}, without those on rows and stderr: `err:`, `sep:`, `chomp:`,
    #   `limit:`, `long:`, `reuse:`, `pty:`
    # @return [Array(String, String, Status)] stdout, stderr, and the status
    # @raise [SystemCallError, ArgumentValueError, ArgumentTypeError] as {rows}
    # @example
    #   out, err, status = Godwit::Shell.capture("git", "status", "--short")
    def capture(*command, **options)
      wrong = options.keys & %i[err sep chomp limit long reuse pty]
      if wrong.any?
        names = wrong.map { |name| "#{name}:" }.join(", ")
        raise Errors.of(ArgumentValueError, :capture,
          "gives all of stdout and stderr: leave out #{names}")
      end
      plan = Plan.new(:capture, [command], {**options, err: :rows, sep: :chunk})
      texts = Hash.new { |all, kind| all[kind] = String.new(encoding: plan.encoding) }
      status = Stream.new(plan).each { |kind, chunk| texts[kind] << chunk }
      [texts[:out], texts[:err], status]
    end

    # The rows of the last of several commands. Each command reads the output of the one before it,
    # without a shell. The rows end when all commands have ended. `status.stages` has the status of
    # each; the status of the whole is that of the last command that failed (SIGPIPE is no failure).
    # @param commands [Array<Array<String>>] each with its arguments; Strings with `shell: true`
    # @param options [Hash] as {rows}, without `pty:`
    # @yieldparam row [String]
    # @return [Stream, Status] without a block, with one
    # @raise [SystemCallError, ArgumentValueError, ArgumentTypeError, RowTooLongError] as {rows}
    def pipe(*commands, **options, &block)
      commands = commands.map { |command| command.is_a?(Hash) ? [command] : Array(command) }
      stream = Stream.new(Plan.new(:pipe, commands, options))
      block ? stream.each(&block) : stream
    end

    # Sends a signal to the process groups of all commands that this process runs. May be called in
    # a trap handler.
    # @param name [Symbol, String, Integer] such as :INT
    # @return [nil]
    # @raise [ArgumentValueError] when there is no such signal
    # @example Ctrl-C ends the commands, not the application
    #   trap(:INT) { Godwit::Shell.signal(:INT) }
    def signal(name)
      number = Processes.signal_number(name)
      Reaper.signal(number)
    rescue ThreadError # a trap handler cannot lock a Mutex
      Thread.new { Reaper.signal(number) }
      nil
    end
  end
end
