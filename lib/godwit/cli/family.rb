# frozen_string_literal: true

require_relative "command"
require_relative "endpoint"
require_relative "keys"

module Godwit
  module CLI
    # A command whose first argument names the part that does the work, as in `godwit log tail`. A
    # subclass has PARTS, name to class name in the order in which the help lists them, each in a
    # file of a folder that has the command's name.
    class Family < Command
      # What all parts have in common: a command whose first argument is mostly an endpoint, and
      # CURVE keys.
      class Part < Command
        include Keys

        private

        def positive(number, option)
          raise UsageError, "#{option} is 1 or more" unless number.positive?
          number
        end

        def not_negative(number, option)
          raise UsageError, "#{option} is 0 or more" if number.negative?
          number
        end
      end

      # @param arguments [Array<String>] as {Command#run}; the first names the part
      # @param io [IO] where it prints
      # @return [Integer] exit status
      # @raise [UsageError, OptionParser::ParseError] when the arguments are wrong
      def run(arguments, io: $stdout)
        name, *rest = arguments
        if name == "help"
          io.puts help_for(rest)
          return EXIT[:ok]
        end
        part = parts[name] or return super
        part.new.run(rest, io: io)
      end

      # As {Command#help_for}; a part's name has that explained.
      # @param words [Array<String>]
      # @return [String]
      # @raise [UsageError] when there is no such part
      def help_for(words)
        return super if words.empty?
        part = parts[words.first] or call(words)
        part.new.help_for(words.drop(1))
      end

      private

      def parts = self.class::PARTS.transform_values { |name| self.class.const_get(name) }

      def define(options)
        parts.each_value do |part|
          options.separator("  godwit #{part.usage}\n      #{part.summary}")
        end
        options.separator ""
        options.separator "`godwit #{self.class.usage.split.first} #{parts.keys.first} --help` " \
          "and so on tell the options."
        options.separator ""
      end

      def call(arguments)
        usages = parts.each_value.map { |part| "`#{part.usage}`" }.join(", ")
        first = arguments.first
        given = ", not #{first.inspect}#{CLI.nearest(first, parts.keys)}" if first
        raise UsageError, "type #{usages}#{given}"
      end
    end
  end
end
