# frozen_string_literal: true

require "optparse"

module Godwit
  module CLI
    # What a command of the command line looks like: a subclass says {.summary} and {.usage} and
    # does its work in {#call}. A command runs once, in the main thread.
    class Command
      class << self
        # One line for `godwit help`; with an argument, sets it.
        # @param text [String, nil]
        # @return [String]
        def summary(text = nil)
          @summary = text if text
          @summary
        end

        # The arguments, as `godwit COMMAND --help` shows them; with an argument, sets them.
        # @param text [String, nil]
        # @return [String]
        def usage(text = nil)
          @usage = text if text
          @usage
        end
      end

      # Parses the arguments and does the work.
      # @param arguments [Array<String>] without the command's name
      # @param io [IO] where it prints
      # @return [Integer] exit status, one of {CLI::EXIT}
      # @raise [UsageError, OptionParser::ParseError] when the arguments are wrong
      def run(arguments, io: $stdout)
        @io = io
        @help_asked = false
        # OptionParser bears no broken text.
        rest =
          parser.parse(
            arguments.map { |argument| argument.valid_encoding? ? argument : argument.b }
          )
        return help if @help_asked
        call(rest)
      end

      # The text that --help prints.
      # @return [String]
      def help_text = parser.to_s

      # What `godwit help COMMAND` prints.
      # @param words [Array<String>] that follow the command's name
      # @return [String]
      # @raise [UsageError] when it has no such part
      def help_for(words)
        no_arguments(words)
        help_text
      end

      private

      attr_reader :io

      # A subclass's work.
      # @param arguments [Array<String>] those that are no options
      # @return [Integer] exit status
      def call(arguments)
        raise NotImplementedError, "#{self.class} does nothing yet"
      end

      # A subclass adds its options here.
      # @param options [OptionParser]
      def define(options)
      end

      def parser
        OptionParser.new do |options|
          options.banner = "usage: godwit #{self.class.usage}"
          options.separator self.class.summary
          options.separator ""
          define(options)
          options.on("-h", "--help", "this text") { @help_asked = true }
        end
      end

      def help
        io.puts help_text
        EXIT[:ok]
      end

      def no_arguments(arguments)
        if arguments.any?
          raise UsageError, "unexpected: #{arguments.map { |argument| text(argument) }.join(" ")}"
        end
      end

      # @return [String] an argument that is no path: UTF-8, what is none shows as U+FFFD
      def text(argument) = argument.dup.force_encoding(Encoding::UTF_8).scrub
    end
  end
end
