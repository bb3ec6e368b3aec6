# frozen_string_literal: true

require_relative "exact_parser"

module Godwit
  module CLI
    # A command of the command line. A subclass declares {.summary} and {.usage}, adds its options
    # in `define` and does its work in `call`, which gets the arguments that are no options and
    # returns the exit status. A command object runs once, in the main thread.
    class Command
      # The factors of units: BINARY for sizes, DECIMAL for counts and rates.
      BINARY = {"" => 1, "k" => 1 << 10, "M" => 1 << 20, "G" => 1 << 30}.freeze
      DECIMAL = {"" => 1, "k" => 1_000, "M" => 1_000_000}.freeze
      MOST = 1_000_000_000 # seconds that an option accepts at most: 31 years
      private_constant :BINARY, :DECIMAL, :MOST

      class << self
        # The program that has the command; the argument sets it, and subclasses inherit it.
        # @param program [Program, nil]
        # @return [Program]
        def program(program = @program) = (@program = program) || superclass.program

        # One line for `godwit help`; `text` sets it.
        # @param text [String, nil]
        # @return [String]
        def summary(text = @summary) = @summary = text

        # The command's arguments, as `godwit COMMAND --help` shows them; `text` sets them.
        # @param text [String, nil]
        # @return [String]
        def usage(text = @usage) = @usage = text

        # @return [String] what a user types: the executable's name and {.usage}
        def command_line = "#{program::PROGRAM} #{usage}"

        # The text that the help shows after the options; `text` sets it, and subclasses inherit it.
        # @param text [String, nil]
        # @return [String, nil]
        def notes(text = @notes)
          (@notes = text) || (superclass.notes if superclass <= Command)
        end
      end

      program CLI

      # Parses the arguments and does the work.
      # @param arguments [Array<String>] without the command's name
      # @param io [IO] where the command prints
      # @return [Integer] exit status, one of {CLI::EXIT}
      # @raise [UsageError, OptionParser::ParseError] when the arguments are wrong
      def run(arguments, io: $stdout)
        @io = io
        rest = parse(arguments)
        return call(rest) unless options[:help]
        io.puts help_text
        EXIT[:ok]
      end

      # The text that --help prints: usage, summary, options, notes.
      # @return [String]
      def help_text
        notes = self.class.notes
        "#{parser}#{"\n#{notes.chomp}\n" if notes}"
      end

      # The help, the manual pages and the shells' completions use the next three methods.
      # @return [Array<OptionParser::Switch>] the command's options
      def switches = parser.switches

      # @return [Hash{String => Class}] the command's subcommands by name, as in `godwit log tail`
      def subcommands = {}

      # @return [Array<String>] the words that the first argument may be; []: there is no list
      def first_words = subcommands.keys

      # The text that `godwit help COMMAND` prints.
      # @param words [Array<String>] that follow the command's name; the first may name a subcommand
      # @return [String]
      # @raise [UsageError] for an unknown subcommand
      def help_for(words)
        no_arguments(words)
        help_text
      end

      private

      # options: values by name, such as {in_bytes: 1024} for `--in-bytes 1k`.
      attr_reader :io, :options

      def program = self.class.program

      # A subclass adds its options here. `options` stores what each option's block returns.
      def define(parser)
      end

      def parser
        ExactParser.new do |parser|
          parser.banner = "usage: #{self.class.command_line}"
          parser.separator "#{self.class.summary}\n\n"
          define(parser)
          parser.on("-h", "--help", "this text")
        end
      end

      def parse(arguments)
        @options = {}
        # OptionParser raises on text with an invalid encoding.
        arguments = arguments.map { |argument| argument.valid_encoding? ? argument : argument.b }
        rest = parser.parse(arguments, into: @options)
        @options.transform_keys! { |name| name.to_s.tr("-", "_").to_sym }
        rest
      end

      # Adds an option that may be repeated: its values become an Array.
      def list_option(parser, spec, *text)
        name = spec[/[a-z]+/].to_sym
        parser.on(spec, *text) { |value| [*options[name], block_given? ? yield(value) : value] }
      end

      def count_option(parser, name, *text)
        parser.on("#{name} N", OptionParser::DecimalInteger, *text) { |n| positive(n, name) }
      end

      def seconds_option(parser, name, *text)
        parser.on("#{name} SECONDS", Float, *text) { |seconds| not_negative(seconds, name) }
      end

      def timeout_option(parser)
        seconds_option(parser, "--timeout", "ends after this time, with status #{EXIT[:timed_out]}")
      end

      def choice_option(parser, spec, words, *text)
        parser.on(spec, ExactParser::Choice.new(words), *text) do |given|
          words.find { |word| word.casecmp?(given) } or
            raise UsageError, "#{spec[/\S+/]} takes #{words.join(", ")}: got #{text(given).inspect}"
        end
      end

      def one_of(*names)
        given = names.select { |name| options[name] }
        raise UsageError, "--#{given.join(" or --")}: give one of them" if given.size > 1
      end

      # @param factors [Hash{String => Integer}] {BINARY} or {DECIMAL}
      # @return [Integer, nil] the number times its unit; nil: the text is no such number
      def units(text, factors)
        digits, unit = text.match(/\A(\d+)([a-zA-Z]?)\z/)&.captures
        factors[unit]&.*(Integer(digits, 10)) if digits
      end

      def positive(number, option)
        raise UsageError, "#{option} is 1 or more" unless number.positive?
        number
      end

      def not_negative(number, option)
        return number if number.between?(0, MOST)
        raise UsageError, "#{option} is #{number.negative? ? "0 or more" : "at most #{MOST}"}"
      end

      def missing(what) = UsageError.new("which #{what}? type #{self.class.command_line}")

      def no_arguments(arguments)
        return if arguments.empty?
        raise UsageError, "unexpected: #{arguments.map { |argument| text(argument) }.join(" ")}"
      end

      # @return [String] an argument as UTF-8, with U+FFFD for invalid bytes; not for paths
      def text(argument) = argument.dup.force_encoding(Encoding::UTF_8).scrub
    end
  end
end
