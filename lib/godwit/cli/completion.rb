# frozen_string_literal: true

require_relative "reference"

module Godwit
  module CLI
    # `godwit completion bash|zsh|fish`: a script for the shell, made from the commands' tables.
    class Completion < Command
      summary "Prints a script that completes commands and options in a shell."
      usage "completion bash|zsh|fish"
      notes <<~TEXT
        bash: `source <(godwit completion bash)` in ~/.bashrc
        zsh: `source <(godwit completion zsh)` in ~/.zshrc, after compinit
        fish: `godwit completion fish > ~/.config/fish/completions/godwit.fish`
      TEXT

      SHELLS = %w[bash zsh fish].freeze
      private_constant :SHELLS

      # (see Command#first_words)
      def first_words = SHELLS

      private

      def call(arguments)
        shell, *rest = arguments
        no_arguments(rest)
        raise missing("shell") unless SHELLS.include?(shell)
        @entries = Reference.entries
        io.puts(__send__(shell))
        EXIT[:ok]
      end

      # The common code counts `words` from 1, as zsh does, so bash gets an empty word in front.
      def bash
        <<~BASH
          _godwit() {
            local words=("" "${COMP_WORDS[@]}") CURRENT=$((COMP_CWORD + 1)) found=
            COMPREPLY=()
            #{branches("compopt -o default; return") { |words| "found=#{words.join(" ").inspect}" }}
            COMPREPLY=($(compgen -W "$found" -- "${words[CURRENT]}"))
          }
          complete -F _godwit godwit
        BASH
      end

      def zsh
        <<~ZSH
          _godwit() {
            #{branches("_files") { |words| "compadd -- #{words.join(" ")}" }}
          }
          compdef _godwit godwit
        ZSH
      end

      # The code that bash and zsh have in common. `files` is code that completes the name of a
      # file; the block returns code that completes the words that the block gets.
      def branches(files, &offer)
        <<~SHELL
          local path= previous=${words[CURRENT - 1]}
          ((CURRENT > 2)) && path=${words[2]}
          if ((CURRENT > 3)); then
            case $path/${words[3]} in
            #{subcommand_paths.join(" | ")}) path+=/${words[3]} ;;
            esac
          fi
          case "$path $previous" in
          #{values(files, &offer)}
          *) case $path in
            #{names(&offer)}
            esac ;;
          esac
        SHELL
      end

      # @return [Array<String>] the paths of all subcommands, such as "log/tail"
      def subcommand_paths = @entries.filter_map { |entry| entry.path if entry.words.size > 1 }

      # Branches of a `case` for the values of options: file names, the allowed words, or nothing.
      def values(files)
        @entries.flat_map do |entry|
          entry.options.select(&:value).group_by { |one| [one.file?, one.choices] }
            .map do |(file, choices), options|
              patterns = options.flat_map(&:names).map { |name| "#{entry.path} #{name}".inspect }
              "#{patterns.join(" | ")}) #{file ? files : offer(choices) { |w| yield w }} ;;"
            end
        end.join("\n")
      end

      def offer(words) = words.empty? ? ":" : yield(words)

      # Branches of a `case` for the words that may follow a command.
      def names
        branches = @entries.map do |entry|
          words = entry.command.first_words + entry.options.flat_map(&:names)
          "#{entry.path}) #{yield words} ;;"
        end
        ["'') #{yield CLI::COMMANDS.keys} ;;", *branches].join("\n")
      end

      def fish
        <<~FISH
          function __godwit_at
            set -l words (commandline -opc)
            set -l path "$words[2]"
            switch "$words[2]/$words[3]"
              case #{subcommand_paths.join(" ")}
                set path "$words[2]/$words[3]"
            end
            test "$path" = "$argv[1]"
          end
          complete -c godwit -f
          #{[*fish_commands, *@entries.flat_map { |entry| fish_options(entry) }].join("\n")}
        FISH
      end

      def fish_commands
        names = CLI::COMMANDS.keys.map { |name| fish_word("", name, CLI.command(name).summary) }
        names + @entries.flat_map do |entry|
          entry.command.first_words.map do |word|
            fish_word(entry.path, word, entry.command.subcommands[word]&.summary)
          end
        end
      end

      def fish_word(path, word, text)
        "complete -c godwit -n '__godwit_at \"#{path}\"' -a #{word}#{fish_text(text)}"
      end

      def fish_options(entry)
        entry.options.map do |option|
          names = option.names.map { |name| name.sub(/\A--/, "-l ").sub(/\A-(?=\S\z)/, "-s ") }
          value = option.value && (option.file? ? " -r -F" : " -x -a '#{option.choices.join(" ")}'")
          "complete -c godwit -n '__godwit_at \"#{entry.path}\"' #{names.join(" ")}#{value}" \
            "#{fish_text(option.text)}"
        end
      end

      def fish_text(text) = text && " -d '#{text.gsub(/['\\]/) { |one| "\\#{one}" }}'"
    end
  end
end
