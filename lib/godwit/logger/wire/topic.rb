# frozen_string_literal: true

require "logger"

module Godwit
  class Logger < ::Logger
    # Names and numbers of the levels, as in Ruby's Logger. On the wire a level is the label of
    # Ruby's lines: `ANY` for unknown, and for a number that Ruby does not know.
    module Levels
      LABELS = Constants::LOG_LABELS # number to label
      # Label or name, in lower case, to number.
      NUMBERS = {**LABELS.map(&:downcase).each_with_index.to_h, "unknown" => 5}.freeze

      module_function

      def label(number) = (number.negative? ? nil : LABELS[number]) || "ANY"

      # @return [Integer] of a line of Ruby's Logger, "E, [2026…"; 5 for any other
      def of_line(line)
        LABELS.index { |label| line.start_with?(label[0]) && line.byteslice(1, 3) == ", [" } || 5
      end

      # @raise [ArgumentError] "invalid log level: foo", the message of Ruby's Logger
      def number(level)
        return level if level.is_a?(Integer)
        NUMBERS[level.to_s.downcase] or raise ArgumentError, "invalid log level: #{level}"
      end

      # @param text [String, Symbol, Integer, Array] "error+" (and above), "warn", "debug,error+",
      #   :info, 1, or an Array of such
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

    # The first frame of a record, `ERROR.billing.web1.`: level, program and host. Each ends with a
    # dot, so that the prefix of `billing` does not match `billing2`. `.` and `%` in a part are
    # written %2E and %25.
    module Topic
      ESCAPED = {"." => "%2E", "%" => "%25"}.freeze
      PLAIN = ESCAPED.invert.freeze
      # The form of a record's topic.
      FORM = /\A(DEBUG|INFO|WARN|ERROR|FATAL|ANY)\.([^.]*)\.([^.]*)\.\z/

      module_function

      def build(level, prog, host)
        "#{Levels.label(level)}.#{escape(prog.to_s)}.#{escape(host)}.".b
      end

      # @return [Array(String, String, String, Integer), nil] the level's label, program and host,
      #   in UTF-8, and the level's number; frozen. nil for another form
      def where(topic)
        label, prog, host = FORM.match(topic)&.captures
        return unless label
        names = [label, unescape(prog), unescape(host)].each(&:freeze)
        [*names, Levels::LABELS.index(label)].freeze
      end

      # @return [Hash] a cache of {where}
      def memory(most = 1000)
        Hash.new do |known, topic|
          known.clear if known.size >= most
          known[topic] = where(topic)
        end
      end

      # The prefixes that a SUB subscribes to. Plain lines (Ruby's Logger, rbczmq's) begin with the
      # level's letter.
      # @return [Array<String>] [""] for everything
      def subscriptions(levels: nil, progs: nil)
        return [""] unless levels || progs
        (levels || (0..5)).flat_map do |level|
          label = Levels.label(level)
          own = progs ? progs.map { |prog| "#{label}.#{escape(prog)}.".b } : ["#{label}."]
          own << "#{label[0]}, ["
        end
      end

      def escape(part) = part.b.gsub(/[.%]/n, ESCAPED)

      def unescape(part)
        part = part.gsub(/%2E|%25/n, PLAIN) if part.include?("%")
        part.force_encoding(Encoding::UTF_8).scrub
      end
    end
    private_constant :Topic
  end
end
