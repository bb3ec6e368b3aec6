# frozen_string_literal: true

module Godwit
  # Makes the text of another process safe to print: it can neither control a terminal nor look like
  # another line.
  module Printable
    # The characters that are shown as escape sequences: C0 except tab and newline, DEL, C1, line
    # and direction marks.
    UNSAFE =
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/
    LINE = 300 # most characters that {line} returns
    LINE_END = 100 # characters that {line} returns of a longer text's end
    # The characters of {UNSAFE} that JSON does not escape itself.
    UNSAFE_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

    class << self
      # @param lines [Boolean] whether newlines and tabs stay unescaped
      # @return [String] in UTF-8, without characters that control a terminal
      def text(text, lines: false)
        unless text.encoding == Encoding::UTF_8 && text.valid_encoding?
          text = text.dup.force_encoding(Encoding::UTF_8).scrub
        end
        text = text.gsub(UNSAFE) { |character| sequence(character) } if text.match?(UNSAFE)
        text = text.gsub(/[\n\t]/, "\n" => '\n', "\t" => '\t') if !lines && text.match?(/[\n\t]/)
        text
      end

      # @return [String] such as "12,345"
      def number(number) = number.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")

      # @return [String] JSON without characters that control a terminal
      def json(text) = text.gsub(UNSAFE_IN_JSON) { |one| format('\u%04x', one.ord) }

      # @return [String] one line of at most 300 characters: its beginning and its end
      def line(text)
        text = text(text)
        return text if text.size <= LINE
        "#{text[0, LINE - LINE_END - 3]} \u2026 #{text[-LINE_END..]}"
      end

      private

      def sequence(character)
        case character
        when "\e" then '\e'
        when "\r" then '\r'
        else format((character.ord < 0x80) ? '\x%02x' : '\u%04x', character.ord)
        end
      end
    end
  end
  private_constant :Printable
end
