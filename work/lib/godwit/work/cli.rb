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
      COMMANDS = %w[run topics tail produce version help]
        .to_h { |name| [name, name.capitalize.to_sym] }.freeze

      extend Godwit::CLI::Program

      # The base of the commands.
      class Command < Godwit::CLI::Command
        program CLI
      end
    end
  end
end
