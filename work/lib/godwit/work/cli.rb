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

      # The class name of each command, in the order of `godwit-work help`. The file has the
      # command's name.
      COMMANDS = %w[
        run topics groups lag dead doctor tail produce seek pause resume evict requeue grow copy
        version help
      ]
        .to_h { |name| [name, name.capitalize.to_sym] }.freeze

      # Commands whose file has another name than the command: there are none.
      FILES = {}.freeze

      # The values that `tail --from` and `seek --to` accept.
      WHERE = ["an offset (a negative one counts from the end of each partition),",
        "earliest, latest, or a time such as 2026-11-20T10:00"].freeze
      private_constant :WHERE

      extend Godwit::CLI::Program

      # The base of the commands.
      class Command < Godwit::CLI::Command
        program CLI

        private

        # @return [Client] of a log that exists: a wrong URL creates no file
        def client
          require "godwit/work"
          @client ||= Work.connect(create: false)
        end

        # @param text [String] value of an option
        # @return [Symbol, Integer, Time] a value for {Client#each}'s `from:`
        def where(text, option)
          return text.to_sym if %w[earliest latest].include?(text)
          return Integer(text, 10) if text.match?(/\A-?\d+\z/)
          require "time"
          raise ArgumentError unless text.match?(/\A(\d{4}-\d\d-\d\d|\d\d?:\d\d)/)
          Time.parse(text)
        rescue ArgumentError
          raise Godwit::CLI::UsageError, "#{option} #{text(text)}: #{WHERE.join(" ")}"
        end

        # Accepts as many arguments as there are names.
        # @param names [Array<String>] of the arguments, for the error
        # @return [Array<String>] the arguments; those that are invalid in the locale count as UTF-8
        def accept(arguments, *names)
          no_arguments(arguments.drop(names.size))
          name = names[arguments.size] and raise missing(name)
          arguments.map do |one|
            (one.encoding == Encoding::BINARY) ? one.dup.force_encoding(Encoding::UTF_8) : one
          end
        end
      end
    end
  end
end
