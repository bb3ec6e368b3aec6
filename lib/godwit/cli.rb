# frozen_string_literal: true

require_relative "version"
require_relative "cli/command"

module Godwit
  # The command `godwit`: finds the command's class, runs it, turns what happens into an exit
  # status. Each command is a file in lib/godwit/cli/, loaded when it is called for; what it does
  # stands in the library, it parses and prints.
  #
  # Not for use by several threads at once: a command owns the process, its standard streams and its
  # signals.
  module CLI
    # Exit statuses; `godwit help` prints them.
    EXIT = {
      ok: 0, failed: 1, usage: 2, timed_out: 124, interrupted: 130, output_closed: 141
    }.freeze

    # What each status says to the user.
    EXIT_MEANINGS = {
      ok: "done", failed: "the operation failed; the reason is on standard error",
      usage: "the command line was wrong", timed_out: "the time given with --timeout was up",
      interrupted: "stopped by Ctrl-C",
      output_closed: "the reader of the output went away (as in `godwit … | head`)"
    }.freeze

    # Command to class name, in the order in which `godwit help` lists them. The file has the
    # command's name.
    COMMANDS = {
      "log" => :Log, "sh" => :Sh, "beacon" => :Beacon, "keygen" => :Keygen, "cert" => :Cert,
      "version" => :Version, "help" => :Help
    }.freeze

    # The command line is wrong: the message goes to standard error, the status is 2.
    class UsageError < StandardError; end

    class << self
      # Runs one command line.
      # @param arguments [Array<String>] such as ["version", "--json"]; not changed
      # @return [Integer] exit status, one of {EXIT}
      def run(arguments)
        guard(arguments) { dispatch(arguments.dup).tap { $stdout.flush } }
      end

      # @param name [String] of a command
      # @return [Class] its subclass of {Command}
      # @raise [UsageError] when there is none; names the nearest
      def command(name)
        constant = COMMANDS[name] or raise UsageError, unknown(name)
        require_relative "cli/#{name}"
        const_get(constant)
      end

      # @param error [Exception] of the library
      # @return [String] its message, without the Ruby method at its head
      def words_of(error)
        operation = error.respond_to?(:operation) && error.operation
        operation ? error.message.sub(/\A#{Regexp.escape(operation.to_s)}:? /, "") : error.message
      end

      # @param name [String] that nobody knows
      # @param known [Array<String>]
      # @return [String] a question that names the nearest; empty where there is none
      def nearest(name, known)
        require "did_you_mean"
        name = name.scrub
        found = DidYouMean::SpellChecker.new(dictionary: known).correct(name).first
        found ||=
          known
            .min_by { |one| DidYouMean::Levenshtein.distance(name, one) }
            .then { |one| one if DidYouMean::Levenshtein.distance(name, one) < 3 }
        found ? "; did you mean #{found.inspect}?" : ""
      rescue LoadError # a Ruby started without it
        ""
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

      # Errors that a user may meet end in one line and a status; others are bugs and keep their
      # backtrace.
      def guard(arguments)
        yield
      rescue UsageError, OptionParser::ParseError => error
        complain(error.message, where_to_look(arguments))
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
        if error.is_a?(::ArgumentError) || endpoint?(error)
          complain(words_of(error), where_to_look(arguments))
          return EXIT[:usage]
        end
        complain(error.message)
        drop_output if error.is_a?(Errno::ENOSPC)
        timed_out?(error) ? EXIT[:timed_out] : EXIT[:failed]
      end

      # The library may not be loaded: not every command needs it.
      def known?(error)
        error.is_a?(SystemCallError) || (defined?(Godwit::Error) && error.is_a?(Godwit::Error))
      end

      # What the library refuses of an endpoint stood on the command line.
      def endpoint?(error)
        defined?(Godwit::Error) &&
          [Godwit::EndpointError, Godwit::ProtocolError].any? { |klass| error.is_a?(klass) }
      end

      # @return [String] which names the whole command, as far as it is one
      def where_to_look(arguments)
        command, part = arguments
        unless COMMANDS.key?(command)
          return "`godwit help` lists the commands, `godwit COMMAND --help` their options."
        end
        family = command(command)
        words = [command, *(part if family.const_defined?(:PARTS) && family::PARTS.key?(part))]
        "`godwit #{words.join(" ")} --help` tells its options."
      end

      def timed_out?(error) = defined?(Godwit::TimeoutError) && error.is_a?(Godwit::TimeoutError)

      def complain(*lines)
        text = lines.map { |line| line.dup.force_encoding(Encoding::UTF_8).scrub }.join("\n")
        warn "godwit: #{text}"
      end

      # Ruby would write what is still buffered at exit, and complain. Another IO object, as
      # $stdout's own `reopen` flushes.
      def drop_output
        IO.for_fd(1, "w", autoclose: false).reopen(File::NULL, "w")
      end

      def unknown(name) = "no command #{name.inspect}#{nearest(name, COMMANDS.keys)}"
    end
  end
end
