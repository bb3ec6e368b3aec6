# frozen_string_literal: true

require "godwit/cli"

module Godwit
  module Work
    # The command `godwit-work`. Each command is a file in work/lib/godwit/work/cli/.
    #
    # **Threads**: as {Godwit::CLI}.
    module CLI
      # The name of the executable.
      PROGRAM = "godwit-work"

      # Command to class name, in the order of `godwit-work help`. The file has the command's name.
      COMMANDS = %w[
        run topics groups lag dead doctor tail produce seek pause resume evict requeue version help
      ]
        .to_h { |name| [name, name.capitalize.to_sym] }.freeze

      extend Godwit::CLI::Program

      # The base of the commands.
      class Command < Godwit::CLI::Command
        program CLI

        private

        # @return [Client]
        def client
          require "godwit/work"
          Work.client
        end

        # @param names [Array<String>] of the arguments, for the message
        # @return [Array<String>] as many arguments
        # @raise [Godwit::CLI::UsageError]
        def take(arguments, *names)
          no_arguments(arguments.drop(names.size))
          missing = names[arguments.size] or return arguments
          raise Godwit::CLI::UsageError, "which #{missing}? type #{self.class.usage}"
        end
      end
    end
  end
end
