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
        io.puts name ? CLI.command(name).new.help_for(rest) : overview
        EXIT[:ok]
      end

      def overview
        <<~TEXT
          usage: godwit COMMAND [options]

          Commands (`godwit COMMAND --help` tells more):
          #{commands}

          Endpoints: tcp://HOST:PORT, ipc://PATH, ipc://@NAME, inproc://NAME…
          An empty host is 127.0.0.1: tcp://:5555.

          Exit status:
          #{statuses}
        TEXT
      end

      def commands
        width = COMMANDS.keys.map(&:size).max
        COMMANDS
          .keys
          .map { |name| "  #{name.ljust(width)}  #{CLI.command(name).summary}" }
          .join("\n")
      end

      def statuses
        EXIT
          .map { |name, status| format("  %3d  %s", status, EXIT_MEANINGS.fetch(name)) }
          .join("\n")
      end
    end
  end
end
