# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Makes text and JSON of the objects that a program logs. No method raises: the result says
    # which object could not be shown.
    module Text
      MAX_BYTES = 64 * 1024 # most bytes of a text, and of a payload
      MAX_NAME = 1024 # most bytes of a program's or a host's name
      MAX_CAUSES = 10 # most causes of an error that are shown
      MAX_LINES = 200 # most lines of an error's backtrace
      MAX_LINE = 256 # most bytes of a backtrace's line, when the whole error is too long
      # JSON's generator writes objects of these classes by itself.
      SIMPLE = [::String, ::Symbol, ::Integer, ::Float, ::NilClass, ::TrueClass, ::FalseClass]
        .to_h { |kind| [kind, true] }.compare_by_identity.freeze
      DEPTH = 10 # levels of nested Hashes and Arrays that `in_json` enters
      # The errors that a program's own methods may raise, except those that end the program.
      FAULTS = [StandardError, ScriptError, SystemStackError, SecurityError, NoMemoryError,
        *(::Java::JavaLang::StackOverflowError if RUBY_ENGINE == "jruby")].freeze

      module_function

      def utf8(text)
        return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
        bytes = text.encoding == Encoding::BINARY || text.encoding == Encoding::UTF_8
        return text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace) unless bytes
        text.dup.force_encoding(Encoding::UTF_8).scrub
      rescue EncodingError
        text.dup.force_encoding(Encoding::UTF_8).scrub
      end

      def cut(text, most = MAX_BYTES)
        return text if text.bytesize <= most
        size = most
        # No character is cut in two.
        size -= 1 while size > most - 4 && (text.getbyte(size) & 0xC0) == 0x80
        "#{utf8(text.byteslice(0, size))}...(cut #{text.bytesize - size} bytes)"
      end

      def of(message)
        case message
        when ::String
          (message.frozen? && message.instance_of?(::String)) ? message : string(message)
        when ::Exception
          "#{message.message} (#{message.class})\n#{message.backtrace&.join("\n")}"
        else
          string(message.inspect)
        end
      rescue *FAULTS => error
        "(#{class_of(message)} could not be shown: #{class_of(error)})"
      end

      # @return [String] a new String, even if `to_s` returns an existing one; faster than dup
      def string(object) = "#{object}" # standard:disable Style/RedundantInterpolation
      def line(text) = text.encoding.ascii_compatible? ? text.delete_suffix("\n") : text.chomp

      # @return [String] text and data, in the form of `godwit log tail --backtrace`
      def with(message, payload)
        text = utf8(of(message))
        exception, payload = split_error(payload)
        return "#{text}  #{data(payload)}" unless exception
        error = error(exception)
        details = [ErrorText.line(error), *(data(payload) if payload)]
        [ErrorText.insert(text, details), *ErrorText.rest(error)].join("\n")
      end

      # @return [String] the payload's text, such as "user=42"
      def data(payload)
        return json(payload) unless ::Hash === payload
        payload.map { |key, value| "#{utf8(name(key))}=#{bare(value)}" }.join(" ")
      rescue *FAULTS # a method of the program's subclass of Hash has failed
        json(payload)
      end

      # Finds the error that a call logs beside its text: `log.error("saving failed", error)`, or
      # under the key `exception:`, `error:` or ActiveSupport's `exception_object:`. Returns the
      # error or nil, and the rest of the payload.
      def split_error(payload)
        return [payload, nil] if ::Exception === payload
        return [nil, payload] unless ::Hash === payload
        key = if ::Exception === payload[:exception] then :exception
        elsif ::Exception === payload[:error] then :error
        elsif ::Exception === payload[:exception_object] then :exception_object
        else return [nil, payload]
        end
        error = payload[key]
        rest = payload.except(key)
        [error, (rest unless rest.empty?)]
      rescue *FAULTS # a method of the program's subclass of Hash has failed
        [nil, payload]
      end

      def merge(payload, keywords)
        return {exception: payload, **keywords} if ::Exception === payload
        (::Hash === payload) ? {**payload, **keywords} : keywords
      rescue *FAULTS # a method of the program's Hash or of a key has failed
        {payload: payload, **keywords}
      end

      def bare(value)
        (::String === value && value.match?(%r{\A[[:alnum:]_.:/@%+-]+\z})) ? value : json(value)
      end

      def name(prog)
        string(prog)
      rescue *FAULTS
        class_of(prog)
      end

      def empty?(tag)
        NilClass === tag || (tag.respond_to?(:empty?) && tag.empty?)
      rescue *FAULTS
        false
      end

      # @return [String] such as "1 record is", or "1 record" without verbs
      def count(records, one = nil, more = nil)
        [records, (records == 1) ? ["record", *one] : ["records", *more]].join(" ")
      end

      # @return [String] a field of a header: comma, key and value in JSON
      def field(key, value)
        json = json(value)
        json = JSON.generate(cut(json)) if json.bytesize > MAX_BYTES
        ",\"#{key}\":#{json}"
      end

      def payload_field(payload) = Header.payload(payload) || field("payload", payload)

      # @return [String] a field as {field} makes it, in which long messages and backtraces are cut
      def error_field(exception)
        room = MAX_BYTES
        json = json(error(exception))
        json = json(error(exception, room /= 2)) while json.bytesize > MAX_BYTES
        ",\"error\":#{json}"
      end

      def error(exception, room = nil)
        all = [exception]
        while (cause = all.last.cause) && all.size <= MAX_CAUSES &&
            all.none? { |known| known.equal?(cause) }
          all << cause
        end
        room /= all.size if room
        first, *causes = all.map { |one| one_error(one, room) }
        {**first, causes: causes}
      rescue *FAULTS => error
        {class: class_of(exception), message: "(could not be shown: #{class_of(error)})"}
      end

      def one_error(exception, room)
        kind = class_of(exception)
        text = message(exception)
        lines = ::Array.try_convert(exception.backtrace)
        most = room ? room / 2 / MAX_LINE : MAX_LINES
        more = lines && lines.size - most
        lines = [*lines.first(most), "...(cut #{more} lines)"] if more&.positive?
        return {class: kind, message: text, backtrace: lines} unless room
        lines &&= lines.map { |line| cut(utf8(name(line)), MAX_LINE) }
        {class: cut(kind, MAX_LINE), message: cut(text, room / 2), backtrace: lines}
      end

      # @return [String] the error's text, such as "no such key (KeyError)"
      def title(exception) = "#{message(exception)} (#{class_of(exception)})"

      def message(exception)
        cut(utf8(name(exception.message)))
      rescue *FAULTS => error
        "(could not be shown: #{class_of(error)})"
      end

      # @return [String] JSON; an object that JSON refuses becomes a String, its `inspect`
      def json(value)
        sound_json(value)
      rescue *FAULTS # JSON refuses NaN, cycles and invalid UTF-8; a program's to_json may raise
        json_by_pieces(value)
      end

      def json_by_pieces(value)
        case value
        when ::Hash
          "{#{value.map { |key, piece| "#{json_text(name(key))}:#{piece(piece)}" }.join(",")}}"
        when ::Array
          "[#{value.map { |piece| piece(piece) }.join(",")}]"
        else
          piece(value)
        end
      rescue *FAULTS
        json_text(of(value))
      end

      def piece(value)
        sound_json(value)
      rescue *FAULTS
        json_text((::String === value) ? name(value).inspect : of(value))
      end

      def json_text(text) = JSON.generate(utf8(text))

      # The program's own to_json may return anything, which would break the whole header. So JSON
      # that such methods made is parsed as a check.
      def sound_json(value)
        return utf8(JSON.generate(value)) if simple?(value)
        utf8(JSON.generate(in_json(value))).tap { |json| JSON.parse(json) }
      end

      # Objects of Ruby's own classes get one form, whichever to_json other libraries define.
      def in_json(value, depth = 0)
        return value if depth > DEPTH
        case value
        when ::Time then value.strftime("%Y-%m-%dT%H:%M:%S.%6N%:z")
        when ::Struct then in_json(value.to_h, depth)
        when ::Hash then value.transform_values { |one| in_json(one, depth + 1) }
        when ::Array, ::Set then value.map { |one| in_json(one, depth + 1) }
        else value
        end
      end

      # @return [Boolean] whether JSON's generator writes the whole value by itself
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

      # @return [String] the name of the object's class, also for a BasicObject
      def class_of(object)
        kind = ::Kernel.instance_method(:class).bind_call(object)
        ::Module.instance_method(:to_s).bind_call(kind)
      end
    end
    private_constant :Text
  end
end
