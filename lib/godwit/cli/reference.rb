# frozen_string_literal: true

module Godwit
  module CLI
    # All commands and subcommands, read from their classes, for completions and manual pages.
    module Reference
      # A command, and the words that name it, such as ["log", "tail"].
      Entry = Struct.new(:words, :command) do
        def path = words.join("/")
        def options = command.switches.map { |switch| Option.new(switch) }
      end

      # An option: the facts that shell completions and manual pages state about it.
      Option = Struct.new(:switch) do
        def names = switch.short + switch.long
        # @return [String, nil] such as "FILE"; nil: the option takes no value
        def value = switch.arg&.strip
        def text = switch.desc.join(" ")
        # @return [Array<String>] the words that the option accepts; []: it has no list of words
        def choices = switch.pattern.is_a?(ExactParser::Choice) ? switch.pattern.words : []
        def file? = !value.nil? && value.match?(/FILE|DIR/)
      end

      def self.entries
        CLI::COMMANDS.keys.flat_map do |name|
          command = CLI.command(name).new
          [Entry.new([name], command),
            *command.subcommands.map { |subcommand, type| Entry.new([name, subcommand], type.new) }]
        end
      end
    end
    private_constant :Reference
  end
end
