# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit help [COMMAND [PART]]`: lists the commands, or explains one.
    class Help < Command
      summary "Lists the commands, or explains one."
      usage "help [COMMAND [PART]]"

      private

      def call(arguments)
        name, *rest = arguments
        io.puts name ? program.command(name).new.help_for(rest) : overview
        EXIT[:ok]
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

      # @return [Array<String>] paragraphs about all commands
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
