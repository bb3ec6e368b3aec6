# frozen_string_literal: true

require_relative "version"
require_relative "cli/command"

module Godwit
  # The command `godwit`: finds the command's class, runs it, and turns errors into an exit status.
  # Each command is a file in lib/godwit/cli/, loaded on demand.
  #
  # **Threads**: not for several, since a command owns the standard streams and signal handlers.
  module CLI
    # Exit statuses; `godwit help` prints them.
    EXIT = {ok: 0, failed: 1, usage: 2, timed_out: 124, interrupted: 130, output_closed: 141}.freeze

    # What each status means to the user.
    EXIT_MEANINGS = {ok: "done", failed: "the operation failed; standard error has the reason",
                     usage: "the command line was wrong", timed_out: "the time of --timeout was up",
                     interrupted: "stopped by Ctrl-C",
                     output_closed: "the output's reader closed it (as `godwit … | head`)"}.freeze

    # Command to class name, in the order of `godwit help`. The file has the command's name.
    COMMANDS = %w[log sh perf ttcp beacon keygen cert version help]
      .to_h { |name| [name, name.capitalize.to_sym] }.freeze

    # The command line is wrong: the message goes to standard error, the status is 2.
    class UsageError < StandardError; end

    class << self
      # Runs one command line.
      # @param arguments [Array<String>] such as ["version", "--json"]; not changed
      # @return [Integer] exit status, one of {EXIT}
      def run(arguments) = guard(arguments) { dispatch(arguments).tap { $stdout.flush } }

      # Runs `ttcp`, as the executable does through a link of this name: a wrong command line has
      # status 1 there, as with C ttcp.
      # @param arguments [Array<String>] such as ["-r", "-s"]
      # @return [Integer] exit status, one of {EXIT}
      def run_ttcp(arguments)
        guard(["ttcp", *arguments]) do
          command("ttcp").new(wrong: EXIT[:failed]).run(arguments).tap { $stdout.flush }
        end
      end

      # @param name [String] of a command
      # @return [Class] its subclass of {Command}
      # @raise [UsageError] for an unknown name; the message suggests the nearest
      def command(name)
        unless COMMANDS.key?(name)
          raise UsageError, "no command #{name.inspect}#{nearest(name, COMMANDS.keys)}"
        end
        require_relative "cli/#{name}"
        const_get(COMMANDS[name])
      end

      # @param error [Exception] of the library
      # @return [String] its message, without the Ruby method at its head
      def words_of(error)
        operation = error.respond_to?(:operation) && error.operation
        operation ? error.message.sub(/\A#{Regexp.escape(operation.to_s)}:? /, "") : error.message
      end

      # @param name [String] an unknown name
      # @param known [Array<String>]
      # @return [String] a question that suggests the nearest known name; empty if none is near
      def nearest(name, known)
        require "did_you_mean"
        name = name.scrub
        distance = ->(one) { DidYouMean::Levenshtein.distance(name, one) }
        found = DidYouMean::SpellChecker.new(dictionary: known).correct(name).first ||
          known.select { |one| distance.call(one) < 3 }.min_by(&distance)
        found ? "; did you mean #{found.inspect}?" : ""
      end

      private

      def dispatch(arguments)
        name, *rest = arguments
        name = {"--help" => "help", "-h" => "help", "--version" => "version", "-V" => "version"}
          .fetch(name, name)
        return command(name).new.run(rest) if name
        command("help").new.run([], io: $stderr)
        EXIT[:usage]
      end

      # Errors that a user can cause end in one line; others are bugs and keep their backtrace.
      def guard(arguments)
        yield
      rescue UsageError, OptionParser::ParseError => error
        usage_error(error.message, arguments)
      rescue Interrupt
        EXIT[:interrupted]
      rescue LoadError => error
        complain(error.message)
        EXIT[:failed]
      rescue Errno::EPIPE
        drop_output
        EXIT[:output_closed]
      rescue => error
        raise unless error.is_a?(SystemCallError) || library?(error, :Error)
        if error.is_a?(::ArgumentError) || library?(error, :EndpointError, :ProtocolError)
          return usage_error(words_of(error), arguments)
        end
        complain(error.message)
        drop_output if error.is_a?(Errno::ENOSPC)
        library?(error, :TimeoutError) ? EXIT[:timed_out] : EXIT[:failed]
      end

      # Not every command loads the library and with it these classes.
      def library?(error, *names)
        defined?(Godwit::Error) && names.any? { |name| error.is_a?(Godwit.const_get(name)) }
      end

      def usage_error(message, arguments)
        complain(message, where_to_look(arguments))
        EXIT[:usage]
      end

      def where_to_look(arguments)
        command, part = arguments
        unless COMMANDS.key?(command)
          return "`godwit help` lists the commands, `godwit COMMAND --help` their options."
        end
        family = command(command)
        words = [command, *(part if family.const_defined?(:PARTS) && family::PARTS.key?(part))]
        "`godwit #{words.join(" ")} --help` lists its options."
      end

      def complain(*lines)
        text = lines.map { |line| line.dup.force_encoding(Encoding::UTF_8).scrub }.join("\n")
        warn "godwit: #{text}"
      end

      # Else Ruby fails to write its buffer at exit. `$stdout.reopen` itself would flush the buffer.
      def drop_output = IO.for_fd(1, "w", autoclose: false).reopen(File::NULL, "w")
    end
  end
end
