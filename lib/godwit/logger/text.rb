# frozen_string_literal: true

require "json"
require "set"
require "java" if RUBY_ENGINE == "jruby"

module Godwit
  class Logger < ::Logger
    # From what a program logs to text and JSON. Nothing here raises: what cannot be told is told
    # so.
    # @private
    module Text
      # Bytes of a text, and of a payload.
      MOST_BYTES = 64 * 1024
      # Bytes of a program's or a host's name.
      MOST_NAME = 1024
      # Causes of an error that are told, and lines of its backtrace.
      MOST_CAUSES = 10
      MOST_LINES = 200
      # Bytes of such a line, where the error is too long.
      MOST_LINE = 256
      # Has JSON's generator refuse what it does not write by itself; nil: it cannot, before json
      # 2.7.
      STRICT = begin
        JSON.generate([::Object.new], strict: true) && nil
      rescue
        {strict: true}.freeze
      end
      # What it writes by itself. Hashes and Arrays of such are looked through, so deep.
      SIMPLE =
        [
          ::String, ::Symbol, ::Integer, ::Float, ::NilClass, ::TrueClass, ::FalseClass
        ].to_h { |kind| [kind, true] }.compare_by_identity.freeze
      DEPTH = 10

      # What a program's own methods may raise: all but what ends it.
      FAULTS = [
        StandardError, ScriptError, SystemStackError, SecurityError, NoMemoryError,
        *(::Java::JavaLang::StackOverflowError if RUBY_ENGINE == "jruby")
      ].freeze

      module_function

      # @return [String] in UTF-8; what is none is replaced
      def utf8(text)
        return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
        if text.encoding == Encoding::BINARY || text.encoding == Encoding::UTF_8
          text.dup.force_encoding(Encoding::UTF_8).scrub
        else
          text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        end
      rescue EncodingError
        text.dup.force_encoding(Encoding::UTF_8).scrub
      end

      # @return [String] the text itself when it is short enough
      def cut(text, most = MOST_BYTES)
        return text if text.bytesize <= most
        size = most
        # Not in the midst of a character.
        size -= 1 while size > most - 4 && (text.getbyte(size) & 0xC0) == 0x80
        kept = text.byteslice(0, size)
        "#{utf8(kept)}...(cut #{text.bytesize - kept.bytesize} bytes)"
      end

      # As Ruby's formatter shows a message.
      # @return [String]
      def of(message)
        case message
        when ::String
          # Interpolation makes a copy that is a String, and is faster than dup.
          # standard:disable Style/RedundantInterpolation
          (message.frozen? && message.instance_of?(::String)) ? message : "#{message}"
          # standard:enable Style/RedundantInterpolation
        when ::Exception
          "#{message.message} (#{message.class})\n#{message.backtrace&.join("\n")}"
        else
          # Interpolation gives a String even if the object's inspect does not.
          "#{message.inspect}" # standard:disable Style/RedundantInterpolation
        end
      rescue *FAULTS => error
        "(#{class_of(message)} could not be shown: #{class_of(error)})"
      end

      # @return [String] without the newline at its end
      def line(text) = text.encoding.ascii_compatible? ? text.delete_suffix("\n") : text.chomp

      # Text and data in one, as `godwit log tail` shows them, for who writes lines.
      # @param payload [Object]
      # @return [String]
      def with(message, payload)
        return "#{utf8(of(message))}  #{of(payload)}" if ::Exception === payload
        data =
          (
            if ::Hash === payload
              payload.map { |key, value| "#{utf8(name(key))}=#{bare(value)}" }.join(" ")
            else
              json(payload)
            end
          )
        "#{utf8(of(message))}  #{data}"
      rescue *FAULTS # a Hash's own methods
        "#{utf8(of(message))}  #{json(payload)}"
      end

      # Both kinds of data that a call may have.
      # @return [Hash]
      def merge(payload, keywords)
        return {exception: payload, **keywords} if ::Exception === payload
        (::Hash === payload) ? {**payload, **keywords} : keywords
      rescue *FAULTS # a key that is none
        {payload: payload, **keywords}
      end

      def bare(value)
        (::String === value && value.match?(%r{\A[[:alnum:]_.:/@%+-]+\z})) ? value : json(value)
      end

      # @param prog [Object]
      # @return [String] as Ruby's formatter shows a program's name; of String itself, whatever
      #   `to_s` gives
      def name(prog)
        "#{prog}" # standard:disable Style/RedundantInterpolation
      rescue *FAULTS
        class_of(prog)
      end

      # @return [Boolean] whether a tag says nothing
      def empty?(tag)
        NilClass === tag || (tag.respond_to?(:empty?) && tag.empty?)
      rescue *FAULTS
        false
      end

      # @param key [String] of the header
      # @return [String] `,"key":` and the value
      def field(key, value)
        json = json(value)
        json = JSON.generate(cut(json)) if json.bytesize > MOST_BYTES
        ",\"#{key}\":#{json}"
      end

      # As {field}, for an error; what is too long is cut within it, so that it stays an object.
      # @return [String]
      def error_field(exception)
        data = error(exception)
        json = json(data)
        room = MOST_BYTES
        json = json(short_error(data, room /= 2)) while json.bytesize > MOST_BYTES
        ",\"error\":#{json}"
      end

      # @param data [Hash] of {error}
      # @param room [Integer] bytes, about
      def short_error(data, room)
        causes = data[:causes] || []
        each = room / (1 + causes.size)
        {**one_short(data, each), causes: causes.map { |one| one_short(one, each) }}
      end

      def one_short(data, room)
        lines = data[:backtrace]
        if lines
          kept = lines.first(room / 2 / MOST_LINE).map { |line| cut(utf8(name(line)), MOST_LINE) }
          kept << "...(cut #{lines.size - kept.size} lines)" if kept.size < lines.size
        end
        {
          class: cut(data[:class], MOST_LINE), message: cut(data[:message], room / 2),
          backtrace: kept
        }
      end

      # What JSON refuses becomes its `inspect`.
      # @return [String]
      def json(value)
        sound_json(value)
      rescue *FAULTS # NaN, cycles, bad UTF-8, a to_json of somebody's own
        json_by_parts(value)
      end

      # @return [Hash] class, message, backtrace, causes
      def error(exception)
        causes = []
        cause = exception.cause
        while cause && causes.size < MOST_CAUSES && !cause.equal?(exception) &&
            causes.none? { |known| known.equal?(cause) }
          causes << cause
          cause = cause.cause
        end
        {**one_error(exception), causes: causes.map { |one| one_error(one) }}
      rescue *FAULTS => error
        {class: class_of(exception), message: "(could not be shown: #{class_of(error)})"}
      end

      # @return [String] such as "1 record is", without verbs "1 record"
      def count(records, one = nil, more = nil)
        [records, (records == 1) ? ["record", *one] : ["records", *more]].join(" ")
      end

      # @return [String] an error's
      def message(exception)
        cut(utf8(name(exception.message)))
      rescue *FAULTS => error
        "(could not be shown: #{class_of(error)})"
      end

      def one_error(exception)
        lines = ::Array.try_convert(exception.backtrace)
        lines = [*lines.first(MOST_LINES), "...(cut #{lines.size - MOST_LINES} lines)"] if lines &&
          lines.size > MOST_LINES
        {class: class_of(exception), message: message(exception), backtrace: lines}
      end

      def json_by_parts(value)
        case value
        when ::Hash
          "{#{value.map { |key, part| "#{string(name(key))}:#{part(part)}" }.join(",")}}"
        when ::Array
          "[#{value.map { |part| part(part) }.join(",")}]"
        else
          part(value)
        end
      rescue *FAULTS
        string(of(value))
      end

      # What an object's own to_json gives stands there as it is, and would spoil the whole header.
      # So it is read again, where there may be such an object.
      if STRICT
        def sound_json(value)
          utf8(JSON.generate(value, STRICT))
        rescue *FAULTS
          read_again(value)
        end
      else
        def sound_json(value) = simple?(value) ? utf8(JSON.generate(value)) : read_again(value)
      end

      # @raise [JSON::ParserError] when it is none
      def read_again(value)
        json = utf8(JSON.generate(in_json(value)))
        JSON.parse(json)
        json
      end

      # Ruby's own kinds that JSON has none for have one form, whatever other libraries make of
      # them.
      def in_json(value, depth = 0)
        return value if depth > DEPTH
        case value
        when ::Time then value.strftime("%Y-%m-%dT%H:%M:%S.%6N%:z")
        when ::Set then value.map { |one| in_json(one, depth + 1) }
        when ::Struct then value.to_h.transform_values { |one| in_json(one, depth + 1) }
        when ::Hash then value.transform_values { |one| in_json(one, depth + 1) }
        when ::Array then value.map { |one| in_json(one, depth + 1) }
        else value
        end
      end

      # @return [Boolean] whether JSON's generator writes it all by itself
      def simple?(value, depth = 0)
        kind = value.class
        return true if SIMPLE[kind]
        return false if depth > DEPTH
        if kind.equal?(::Hash)
          value.each_pair do |key, one|
            return false if !SIMPLE[key.class] || !(SIMPLE[one.class] || simple?(one, depth + 1))
          end
        elsif kind.equal?(::Array)
          value.each { |one| return false unless SIMPLE[one.class] || simple?(one, depth + 1) }
        else
          return false
        end
        true
      end

      def part(value)
        sound_json(value)
      rescue *FAULTS
        string((::String === value) ? name(value).inspect : of(value))
      end

      def string(text) = JSON.generate(utf8(text))

      # @return [String] also of a BasicObject's
      def class_of(object)
        ::Module.instance_method(:to_s).bind_call(
          ::Kernel.instance_method(:class).bind_call(object)
        )
      end
    end
    private_constant :Text
  end
end
