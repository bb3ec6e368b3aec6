# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit help [COMMAND [SUBCOMMAND]]`: lists the commands, or explains one.
    class Help < Command
      summary "Lists the commands, or explains one."
      usage "help [--man] [COMMAND [SUBCOMMAND]]"

      MANUALS = File.expand_path("../../../man/man1", __dir__)
      private_constant :MANUALS

      # (see Command#first_words)
      def first_words = program::COMMANDS.keys

      private

      def define(parser)
        parser.on("--man", "shows the manual page, by the program man") if program == CLI
      end

      def call(arguments)
        name, *rest = arguments
        return manual(name) if options[:man]
        io.puts name ? program.command(name).new.help_for(rest) : overview
        EXIT[:ok]
      end

      # man does not search in gems, so it gets the page's path. Subcommands have no pages.
      def manual(name)
        program.command(name) if name
        page = File.join(MANUALS, "#{[program::PROGRAM, *name].join("-")}.1")
        shown = system("man", page)
        raise InputError, "there is no program man; the page is #{page}" if shown.nil?
        EXIT[shown ? :ok : :failed]
      end

      def overview
        [
          "usage: #{program::PROGRAM} COMMAND [options]",
          "Commands (`#{program::PROGRAM} COMMAND --help` explains one):\n#{commands}",
          *notes,
          "Exit status:\n#{statuses}"
        ].join("\n\n")
      end

      def commands
        names = program::COMMANDS.keys
        width = names.map(&:size).max
        names.map { |one| "  #{one.ljust(width)}  #{program.command(one).summary}" }.join("\n")
      end

      def notes
        ["Endpoints: tcp://HOST:PORT, ipc://PATH, ipc://@NAME, inproc://NAME…\n" \
          "An empty host is 127.0.0.1: tcp://:5555."]
      end

      def statuses
        EXIT.map { |name, status| format("  %3d  %s", status, EXIT_MEANINGS[name]) }.join("\n")
      end
    end
  end
end
