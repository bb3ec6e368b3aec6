# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Shows an error as a record has it: `class`, `message`, `backtrace`, `causes`; keys are Strings
    # or Symbols. Another program may send any value for each of them.
    module ErrorText
      LONGEST = 1_000 # most bytes of an error's message on one line
      LONGEST_NAME = 256 # most bytes of a class or a location on one line
      CAUSED_BY = "caused by: "

      module_function

      # @return [String] one line: "no such key (KeyError) at app.rb:3:in `save'"
      def line(error)
        name = one_line(error, :class, LONGEST_NAME)
        location = one_line({location: backtrace(error).first}, :location, LONGEST_NAME)
        [one_line(error, :message, LONGEST), ("(#{name})" unless name.empty?),
          ("at #{location}" unless location.empty?)].compact.reject(&:empty?).join(" ")
      end

      # @return [Array<String>] the lines after {line}: the message if {line} has cut it, the rest
      #   of the backtrace, the causes
      def rest(error)
        message = string(fetch(error, :message))
        full = (message == one_line(error, :message, LONGEST)) ? [] : message.lines(chomp: true)
        causes = array(error, :causes).grep(::Hash).flat_map do |cause|
          [CAUSED_BY + line(cause), *rest(cause)]
        end
        [*full, *backtrace(error).drop(1).map { |one| string(one) }, *causes]
      end

      # @return [String, nil] the rest of a text that {Text.of} or {Text.title} made of the error;
      #   nil: the text was made of something else
      def after(text, error)
        title = "#{string(fetch(error, :message))} (#{string(fetch(error, :class))})"
        return unless text.start_with?(title)
        rest = text.byteslice(title.bytesize..)
        rest if rest.empty? || rest.start_with?("\n")
      end

      # @param details [Array<String>] texts to insert after the text's first line
      def insert(text, details)
        first, line_end, following = text.partition("\n")
        [first, *details].reject(&:empty?).join("  ") + line_end + following
      end

      def fetch(error, key) = error[key.to_s] || error[key]
      def array(error, key) = ::Array.try_convert(fetch(error, key)) || []
      def backtrace(error) = array(error, :backtrace)

      def string(value)
        return "" if NilClass === value
        (::String === value) ? Text.utf8(value) : Text.json(value)
      end

      def one_line(error, key, most)
        text = Text.cut(string(fetch(error, key)).strip, most)
        return text unless text.match?(/\R/)
        text.split(/\R/).map(&:strip).reject(&:empty?).join(" ")
      end
    end
    private_constant :ErrorText
  end
end
