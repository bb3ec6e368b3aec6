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
        width = COMMANDS.keys.map(&:size).max
        list = COMMANDS.each_key.map { |one| "  #{one.ljust(width)}  #{CLI.command(one).summary}" }
        statuses = EXIT.map { |name, status| format("  %3d  %s", status, EXIT_MEANINGS[name]) }
        <<~TEXT
          usage: godwit COMMAND [options]

          Commands (`godwit COMMAND --help` explains one):
          #{list.join("\n")}

          Endpoints: tcp://HOST:PORT, ipc://PATH, ipc://@NAME, inproc://NAME…
          An empty host is 127.0.0.1: tcp://:5555.

          Exit status:
          #{statuses.join("\n")}
        TEXT
      end
    end
  end
end
