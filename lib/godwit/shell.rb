# frozen_string_literal: true

require "pty" unless RUBY_ENGINE == "jruby"
require_relative "shell/native"
require_relative "shell/plan"
require_relative "shell/tail"
require_relative "shell/child"
require_relative "shell/members"
require_relative "shell/processes"
require_relative "shell/reaper"
require_relative "shell/launch"
require_relative "shell/stdin_writer"
require_relative "shell/source"
require_relative "shell/clock"
require_relative "shell/status"
require_relative "shell/command_error"
require_relative "shell/report"
require_relative "shell/job"
require_relative "shell/bridges"
require_relative "shell/stream"
require_relative "shell/peers"
require_relative "shell/push"
require_relative "shell/pull"
require_relative "shell/jruby" if RUBY_ENGINE == "jruby"

module Godwit
  # The output of commands, row by row: no row is read before it is asked for, none is kept, and a
  # command whose rows nobody wants any longer is stopped, with all that it has started, and reaped.
  #
  # Each command leads a process group of its own. It is stopped by TERM to the whole group, and
  # KILL for those that are still there after `grace:`; that happens when the block is left
  # (`break`, an exception, `throw`, `Thread#kill`, a Timeout), at the command's own end (for what
  # it left in the background), when its {Stream} is closed or collected, and at exit. What leaves
  # the group (`setsid`, daemons) escapes. After `exit!` or `kill -9` of this process commands end
  # when they write next, once no forked child has their pipe any more; `Process.daemon` is such an
  # `exit!`, and the daemon such a child: close streams before it.
  #
  # A Ctrl-C reaches this process alone, since the command is not in the terminal's foreground
  # group: when an Interrupt or another SignalException ends the block, the command gets that same
  # signal first. No handler of the application is touched; one that goes on instead of ending may
  # pass the signal on with {Shell.signal}.
  #
  # Works in threads, under a fiber scheduler, and in forked children (which leave their parent's
  # commands alone); in the main Ractor only, and not in trap handlers. All waits end at once on
  # Thread#kill, Thread#raise, Timeout and signals. It sets `$?` as Ruby's own methods do.
  #
  # @example
  #   Godwit::Shell.rows("find", "/", "-name", "*.rb") { |row| puts row; break if enough }
  #   Godwit::Shell.rows("find / 2>/dev/null", shell: true).lazy.grep(/test/).first(10)
  #   status = Godwit::Shell.run("make", err: :tail, timeout: 600) { |row| log << row }
  #   Godwit::Shell.pipe(%w[find / -type f -print0], %w[xargs -0 wc -c]).each { |row| puts row }
  module Shell
    module_function

    # The rows of a command's stdout. How the command ends is no error here: `status` says it.
    #
    # @param command [Array<String>] program and arguments, which no shell sees, one by one or as
    #   one Array; one String with `shell: true`. A Hash before them holds variables, as `env:` does
    # @param options [Hash] of the following
    # @option options [Boolean] :shell (false) whether the command is one String for /bin/sh
    # @option options [Hash{String => String, nil}] :env variables on top of the process's own; nil
    #   removes one
    # @option options [Boolean] :unsetenv_others (false) whether it gets no variables but those of
    #   `env:`
    # @option options [String] :chdir the folder that it runs in
    # @option options [String, IO, #read, #each] :input (nothing) what it reads: an IO is given to
    #   it as it is; all else is written by a thread, as fast as it is read (rows of a Stream with
    #   what ended them, messages as lines); what it does not read is no error. Without it the
    #   command reads the end at once
    # @option options [Symbol, Proc, IO, #write] :err (:inherit) its stderr: `:inherit`, `:merge`
    #   with stdout, `:discard`, `:tail` (the last 64 KiB stand in the status), `:rows` (yields
    #   `[:out, row]` and `[:err, row]`), a Proc that gets each row, an IO, or what has `write`. Of
    #   a pipeline it is that of all stages
    # @option options [String, :chunk] :sep ("\n") what ends a row, such as "\0" for `find -print0`;
    #   `:chunk` yields what a read gave, without cutting a character of UTF-8
    # @option options [Boolean] :chomp (true) whether rows come without it, and with "\n" without
    #   "\r" before it
    # @option options [Integer] :limit (1 MiB) bytes of a row without what ends it, from 1 on
    # @option options [Symbol] :long (:raise) what becomes of longer ones: `:raise`, `:split` into
    #   several, `:cut` to the limit; no character of UTF-8 is cut
    # @option options [Encoding, String] :encoding (Encoding.default_external) of the rows; nothing
    #   is converted
    # @option options [Boolean] :reuse (false) yield one String again and again, whose content is
    #   the row until the block ends: no allocation per row
    # @option options [Numeric] :timeout seconds that the whole may take; then it is stopped, rows
    #   end, and `status.timed_out` is :timeout
    # @option options [Numeric] :idle seconds to wait for one row, likewise
    # @option options [Numeric] :grace (2) seconds between TERM and KILL
    # @option options [Numeric] :drain (1) seconds without output that are waited when the command
    #   has ended and something it left behind holds its stdout open; `status.truncated?` says that
    #   it was not awaited any longer. nil: for ever
    # @option options [Boolean] :pty (false) whether it gets a terminal, so that it writes each line
    #   at once; rows are its stdout and stderr. Not on JRuby
    # @option options [Integer, Array<Integer>] :ok ([0]) exit statuses that are no failure, such as
    #   `[0, 1]` for grep
    # @option options [Integer] :umask as Process.spawn
    # @option options [Boolean] :foreground (false) whether it has this process's terminal, for
    #   passwords, pagers and editors (`ssh`, `sudo`, `less`): it stays in this process's group, so
    #   that Ctrl-C and Ctrl-Z reach both, reads the process's own stdin without `input:`, and is
    #   itself alone sent the signals that end it. Without it, a command that uses the terminal is
    #   stopped by the system, and that raises
    # @yieldparam row [String]
    # @return [Stream, Status] without a block, with one
    # @raise [StateError] when the command wants the terminal, and has no `foreground: true`
    # @raise [SystemCallError] such as Errno::ENOENT naming the program or the folder, when it
    #   cannot be started
    # @raise [ArgumentValueError, ArgumentTypeError] naming the argument
    # @raise [RowTooLongError]
    def rows(*command, **options, &block)
      stream = Stream.new(Plan.new(:rows, [command], options))
      block ? stream.each(&block) : stream
    end

    # Runs a command to its end, and raises when it failed. Without a block its stdout is the
    # process's own.
    #
    # @param command [Array<String>] as {rows}
    # @param options [Hash] as {rows}
    # @yieldparam row [String]
    # @return [Status]
    # @raise [CommandError] for an exit status other than 0, a signal, a time-out; never for a
    #   command that the block stopped
    # @raise [SystemCallError, ArgumentValueError, ArgumentTypeError, RowTooLongError] as {rows}
    def run(*command, **options, &block)
      stream = Stream.new(Plan.new(:run, [command], options, outward: block.nil?))
      status = stream.each(&block || proc {})
      raise CommandError.of(status) if status.failed?
      status
    end

    # Runs a command to its end, and gives all that it wrote. How it ends is no error here: the
    # status says it.
    #
    # @param command [Array<String>] as {rows}
    # @param options [Hash] as {rows}, without those on rows and stderr: `err:`, `sep:`, `chomp:`,
    #   `limit:`, `long:`, `reuse:`, `pty:`
    # @return [Array(String, String, Status)] stdout, stderr, and how it ended
    # @raise [SystemCallError, ArgumentValueError, ArgumentTypeError] as {rows}
    # @example
    #   out, err, status = Godwit::Shell.capture("git", "status", "--short")
    def capture(*command, **options)
      wrong = options.keys & %i[err sep chomp limit long reuse pty]
      if wrong.any?
        raise ArgumentValueError.new(
          "capture: gives all of stdout and stderr: leave " \
          "out #{wrong.map { |name| "#{name}:" }.join(", ")}",
          operation: :capture
        )
      end
      plan = Plan.new(:capture, [command], {**options, err: :rows, sep: :chunk})
      texts = Hash.new { |all, kind| all[kind] = String.new(encoding: plan.encoding) }
      status = Stream.new(plan).each { |kind, chunk| texts[kind] << chunk }
      [texts[:out], texts[:err], status]
    end

    # The rows of the last of several commands, each of which reads what the one before it writes;
    # no shell is between them. It ends when all have ended. `status.stages` has each one's; the
    # whole failed as the last one that did (one that ended by SIGPIPE did not).
    #
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
    #
    # @param name [Symbol, String, Integer] such as :INT
    # @return [nil]
    # @raise [ArgumentValueError] when there is no such signal
    # @example The application goes on after a Ctrl-C, its commands do not
    #   trap(:INT) { Godwit::Shell.signal(:INT) }
    def signal(name)
      number = Signals.number(name)
      Reaper.signal(number)
    rescue ThreadError # locks are not for trap handlers
      Thread.new { Reaper.signal(number) }
      nil
    end
  end
end
