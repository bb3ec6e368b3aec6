# frozen_string_literal: true

require_relative "version"
require_relative "cli/command"

module Godwit
  # The command `godwit`: finds the command's class, runs it, turns what happens into an exit status. Each command is a file in
  # lib/godwit/cli/, loaded when it is called for; what it does stands in the library, it parses and prints.
  #
  # Not for use by several threads at once: a command owns the process, its standard streams and its signals.
  module CLI
    # Exit statuses; `godwit help` prints them.
    EXIT = {
      ok: 0,
      failed: 1,
      usage: 2,
      timed_out: 124,
      interrupted: 130,
      output_closed: 141
    }.freeze

    # What each status says to the user.
    EXIT_MEANINGS = {
      ok: "done",
      failed: "the operation failed; the reason is on standard error",
      usage: "the command line was wrong",
      timed_out: "the time given with --timeout was up",
      interrupted: "stopped by Ctrl-C",
      output_closed: "the reader of the output went away (as in `godwit … | head`)"
    }.freeze

    # Command to class name, in the order in which `godwit help` lists them. The file has the command's name.
    COMMANDS = {
      "log" => :Log,
      "sh" => :Sh,
      "beacon" => :Beacon,
      "version" => :Version,
      "help" => :Help
    }.freeze

    # The command line is wrong: the message goes to standard error, the status is 2.
    class UsageError < StandardError; end

    class << self
      # Runs one command line.
      # @param arguments [Array<String>] such as ["version", "--json"]; not changed
      # @return [Integer] exit status, one of {EXIT}
      def run(arguments)
        guard { dispatch(arguments.dup).tap { $stdout.flush } }
      end

      # @param name [String] of a command
      # @return [Class] its subclass of {Command}
      # @raise [UsageError] when there is none; names the nearest
      def command(name)
        constant = COMMANDS[name] or raise UsageError, unknown(name)
        require_relative "cli/#{name}"
        const_get(constant)
      end

      private

      def dispatch(arguments)
        case (first = arguments.shift)
        when nil
          command("help").new.run([], io: $stderr)
          EXIT[:usage]
        when "--help", "-h" then command("help").new.run(arguments)
        when "--version", "-V" then command("version").new.run(arguments)
        else command(first).new.run(arguments)
        end
      end

      # Errors that a user may meet end in one line and a status; others are bugs and keep their backtrace.
      def guard
        yield
      rescue UsageError, OptionParser::ParseError => error
        complain(error.message, "`godwit help` lists the commands, `godwit COMMAND --help` their options.")
        EXIT[:usage]
      rescue Interrupt
        EXIT[:interrupted]
      rescue LoadError => error
        complain(error.message)
        EXIT[:failed]
      rescue Errno::EPIPE
        drop_output
        EXIT[:output_closed]
      rescue => error
        raise unless known?(error)
        complain(error.message)
        drop_output if error.is_a?(Errno::ENOSPC)
        timed_out?(error) ? EXIT[:timed_out] : EXIT[:failed]
      end

      # The library may not be loaded: not every command needs it.
      def known?(error)
        error.is_a?(SystemCallError) || (defined?(Godwit::Error) && error.is_a?(Godwit::Error))
      end

      def timed_out?(error) = defined?(Godwit::TimeoutError) && error.is_a?(Godwit::TimeoutError)

      def complain(*lines)
        warn "godwit: #{lines.map { |line| line.dup.force_encoding(Encoding::UTF_8).scrub }.join("\n")}"
      end

      # Ruby would write what is still buffered at exit, and complain. Another IO object, as $stdout's own `reopen` flushes.
      def drop_output
        IO.for_fd(1, "w", autoclose: false).reopen(File::NULL, "w")
      end

      def unknown(name)
        require "did_you_mean"
        nearest = DidYouMean::SpellChecker.new(dictionary: COMMANDS.keys).correct(name.scrub).first
        "no command #{name.inspect}#{"; did you mean #{nearest.inspect}?" if nearest}"
      rescue LoadError # a Ruby started without it
        "no command #{name.inspect}"
      end
    end
  end
end
