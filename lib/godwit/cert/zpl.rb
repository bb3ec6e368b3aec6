# frozen_string_literal: true

module Godwit
  class Cert
    # Reads and writes ZPL (RFC 4), the file format of CZMQ's and pyzmq's certificates. The writer
    # writes only names and values that both libraries read. The reader accepts what both write:
    # unquoted values, blanks in names, comments, CRLF.
    # @private
    module ZPL
      # Most bytes of a text that the reader accepts.
      LIMIT = 65_536
      INDENT = 4
      NAME = /\A[A-Za-z0-9._-]+\z/
      # The reader accepts a tab as a blank and refuses the other control characters.
      CONTROL = /[\u0000-\u0008\u000A-\u001F\u007F-\u009F]/
      # The writer refuses a value with a control character.
      PRINTABLE = /\A[^\u0000-\u001F\u007F-\u009F]*\z/

      # Raised when a text is no ZPL. `line` is the number of the first wrong line.
      # @private
      class SyntaxError < StandardError
        attr_reader :line

        def initialize(message, line)
          super(message)
          @line = line
        end
      end

      module_function

      # Returns the properties of each section. A nested property is named by its path, such as
      # "a/b". The message of a SyntaxError shows nothing of the text.
      def parse(text)
        raise SyntaxError.new("is longer than #{LIMIT} bytes", 1) if text.bytesize > LIMIT
        text = text.dup.force_encoding(Encoding::UTF_8)
        sections = {}
        path = []
        text.each_line.with_index(1) do |line, number|
          raise SyntaxError.new("is not UTF-8", number) unless line.valid_encoding?
          line = line.chomp
          next if line.match?(/\A[ \t]*(?:#.*)?\z/)
          if line.match?(CONTROL)
            raise SyntaxError.new("contains a control character", number)
          end
          level = level(line, path.size, number)
          name, value = property(line, number)
          path = [*path.first(level), name]
          store(sections, path, value, number)
        end
        sections
      end

      def dump(sections)
        sections.map { |section, properties|
          lines = properties.map { |name, value|
            "    #{checked_name(name)} = #{quote(name, value)}\n"
          }
          "#{section}\n#{lines.join}"
        }.join
      end

      def checked_name(name)
        return name if name.is_a?(String) && name.ascii_only? && name.match?(NAME)
        raise ::ArgumentError, "a property's name has letters, digits, \".\", \"_\" and \"-\": " \
          "got #{Errors.shown(name)}"
      end

      def quote(name, value)
        problem = unwritable(value)
        raise ::ArgumentError, "the value of #{name} #{problem}" if problem
        mark = value.include?('"') ? "'" : '"'
        "#{mark}#{value.encode(Encoding::UTF_8)}#{mark}"
      end

      def unwritable(value)
        return "is no String: #{value.class}" unless value.is_a?(String)
        text = value.encode(Encoding::UTF_8)
        if !text.valid_encoding? then "is not UTF-8"
        elsif !text.match?(PRINTABLE) then "has a control character"
        elsif text.include?('"') && text.include?("'") then "has both quotes, \" and '"
        end
      rescue EncodingError
        "is not UTF-8"
      end

      def level(line, known, number)
        blanks = line[/\A */].size
        level = blanks / INDENT
        if line[blanks] == "\t" || !(blanks % INDENT).zero? || level > known
          raise SyntaxError.new("is not indented by 4 blanks below its section", number)
        end
        level
      end

      # @return [Array(String, String)] the name, and the value or nil
      def property(line, number)
        text = line.lstrip
        name = text[/\A[^=#]*/]
        return [section(name.strip, number), nil] unless text[name.size] == "="
        raise SyntaxError.new("has no name before its =", number) if name.strip.empty?
        [name.strip, value(text[name.size + 1..].strip, number)]
      end

      def section(name, number)
        return name if name.match?(/\A[[:alnum:]$_@.&+\/-]+\z/)
        raise SyntaxError.new("is neither a section nor a property, NAME = VALUE", number)
      end

      def value(text, number)
        mark = text[0]
        return text.sub(/\s*#.*\z/, "") unless mark == '"' || mark == "'"
        found, rest = text.match(/\A#{mark}([^#{mark}]*)#{mark}\s*(.*)\z/)&.captures
        raise SyntaxError.new("lacks the closing #{mark}", number) unless found
        return found if rest.empty? || rest.start_with?("#")
        raise SyntaxError.new("has something after its value", number)
      end

      def store(sections, path, value, number)
        section, *names = path
        known = sections[section] ||= {}
        return if names.empty? # `section = value` is allowed, and its value ignored
        name = names.join("/")
        raise SyntaxError.new("repeats a name", number) if known.key?(name) && value
        known[name] = value if value
      end
      private_class_method :level, :property, :section, :value, :store
    end
  end
end
