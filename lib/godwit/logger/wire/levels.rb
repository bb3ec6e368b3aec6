# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Names and numbers of the levels, as in Ruby's Logger. On the wire a level is the label of
    # Ruby's lines: `ANY` for unknown, and for a number that Ruby does not know.
    module Levels
      LABELS = LoggerConstants::LABELS # the label of each number
      # The number of each label, in lower case, and of "unknown".
      NUMBERS = {**LABELS.map(&:downcase).each_with_index.to_h, "unknown" => 5}.freeze

      module_function

      def label(number) = (number.negative? ? nil : LABELS[number]) || "ANY"

      # @raise [ArgumentError] "invalid log level: foo", the message of Ruby's Logger
      def number(level)
        return level if level.is_a?(Integer)
        NUMBERS[level.to_s.downcase] or raise ArgumentError, "invalid log level: #{level}"
      end

      # Accepts "error+" (and above), "warn", "debug,error+", :info, 1, or an Array of such values.
      def choose(text)
        words = Array(text).flat_map do |word|
          word.is_a?(Integer) ? [word] : word.to_s.split(",", -1)
        end
        raise ArgumentError, "invalid log level: #{text}" if words.empty?
        words.flat_map do |word|
          next [word.clamp(0, 5)] if word.is_a?(Integer)
          first = number(word.strip.delete_suffix("+"))
          word.strip.end_with?("+") ? [*first..5] : [first]
        end.uniq.sort
      end
    end
    private_constant :Levels
  end
end
