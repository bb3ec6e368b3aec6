# frozen_string_literal: true

module Godwit
  module CLI
    # The work of an executable: it finds the command's class, runs it, and turns errors into an
    # exit status. The module that extends itself with Program defines PROGRAM, COMMANDS and FILES
    # as {CLI} does. The file of a command is in that module's folder, and is loaded on demand.
    module Program
      # Options that users know from other programs, and the commands that run instead.
      FLAGS = {"--help" => "help", "-h" => "help", "--version" => "version", "-V" => "version"}
        .freeze
      private_constant :FLAGS

      # Runs one command line.
      # @param arguments [Array<String>] such as ["version", "--json"]; not changed
      # @return [Integer] exit status, one of {EXIT}
      def run(arguments) = guard(arguments) { dispatch(arguments).tap { $stdout.flush } }

      # @param name [String] of a command
      # @return [Class] the command's class, a subclass of {Command}
      # @raise [UsageError] for an unknown name; the message suggests the nearest name
      def command(name)
        unless self::COMMANDS.key?(name)
          raise UsageError, "no command #{name.inspect}#{CLI.nearest(name, self::COMMANDS.keys)}"
        end
        file = self::FILES.fetch(name, name)
        require "#{self.name.downcase.gsub("::", "/")}/#{file}"
        const_get(self::COMMANDS[name])
      end

      private

      def dispatch(arguments)
        name, *rest = arguments
        return command(FLAGS.fetch(name, name)).new.run(rest) if name
        command("help").new.run([], io: $stderr)
        EXIT[:usage]
      end

      # Prints an error that a user can cause, as one line. Any other error is a bug, and is raised.
      def guard(arguments)
        yield
      rescue UsageError, OptionParser::ParseError => error
        usage_error(error.message, arguments)
      rescue Interrupt
        EXIT[:interrupted]
      rescue LoadError, InputError => error
        complain(error.message)
        EXIT[:failed]
      rescue Errno::EPIPE
        drop_output
        EXIT[:output_closed]
      rescue => error
        raise unless error.is_a?(SystemCallError) || library?(error, :Error)
        if error.is_a?(::ArgumentError) || library?(error, :EndpointError, :ProtocolError)
          return usage_error(CLI.words_of(error), arguments)
        end
        complain(error.message)
        drop_output if error.is_a?(Errno::ENOSPC)
        library?(error, :TimeoutError) ? EXIT[:timed_out] : EXIT[:failed]
      end

      # These error classes exist only if the command has loaded the library.
      def library?(error, *names)
        defined?(Godwit::Error) && names.any? { |name| error.is_a?(Godwit.const_get(name)) }
      end

      def usage_error(message, arguments)
        complain(message, where_to_look(arguments))
        EXIT[:usage]
      end

      def where_to_look(arguments)
        command, subcommand = arguments
        program = self::PROGRAM
        unless self::COMMANDS.key?(command)
          return "`#{program} help` lists the commands, `#{program} COMMAND --help` their options."
        end
        words = [command, *(subcommand if command(command).new.subcommands.key?(subcommand))]
        "`#{program} #{words.join(" ")} --help` lists its options."
      end

      def complain(*lines)
        lines = "#{self::PROGRAM}: #{lines.map(&:b).join("\n")}".lines(chomp: true)
        warn lines.map { |line| Printable.line(line) }.join("\n")
      end

      # Redirects the output to /dev/null: otherwise Ruby would write its buffer at exit, and fail
      # again. `$stdout.reopen` would write the buffer first, and fail, too.
      def drop_output = IO.for_fd(1, "w", autoclose: false).reopen(File::NULL, "w")
    end
  end
end
