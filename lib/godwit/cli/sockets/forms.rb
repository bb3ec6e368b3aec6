# frozen_string_literal: true

require_relative "../../printable"

module Godwit
  module CLI
    module Sockets
      # The forms of messages in text. A form's terminator ends each message of the input. `decode`
      # makes an Array of frames from a message's text, `encode` makes the text from frames.
      module Forms
        # One message per line, a tab between two frames. With `--null` a NUL ends a message, as
        # with `find -print0`. In a terminal control characters are escaped.
        class Text
          attr_reader :terminator

          def initialize(terminal, terminator = "\n")
            @terminal = terminal
            @terminator = terminator
            @ending = terminal ? "\n" : terminator
          end

          def decode(text)
            text = text.b unless text.valid_encoding? # `split` would raise
            text.empty? ? [text] : text.split("\t", -1)
          end

          def encode(frames) = frames.map { |frame| shown(frame) }.join("\t") << @ending

          private

          def shown(frame)
            return frame.b unless @terminal
            text = frame.dup.force_encoding(Encoding::UTF_8)
            text = text.scrub { |bytes| bytes.each_byte.map { |b| format('\x%02x', b) }.join }
            Printable.text(text)
          end
        end

        # Each frame in hexadecimal digits, a tab between two frames.
        class Hex < Text
          def decode(text)
            super.map do |frame|
              digits = frame.delete(" ")
              next [digits].pack("H*") if digits.match?(/\A(?:\h\h)*\z/)
              raise InputError, "#{frame.inspect} is no frame of hexadecimal digits, two a byte"
            end
          end

          private

          def shown(frame) = frame.unpack1("H*")
        end

        # One JSON array per line. A frame that is not UTF-8 becomes an object: {"base64": "..."}.
        class JSONArray
          def initialize
            require "json"
          end

          def terminator = "\n"

          def decode(text)
            frames = JSON.parse(text)
            return frames.map { |frame| bytes(frame) } if frames.is_a?(Array) && frames.any?
            raise InputError, "a message is an array of one frame or more, such as [\"a\", \"b\"]"
          rescue JSON::ParserError
            raise InputError, "this is no JSON: #{text.byteslice(0, 80).scrub}"
          end

          def encode(frames)
            Printable.json(JSON.generate(frames.map { |frame| value(frame) })) << "\n"
          end

          private

          def bytes(frame)
            return frame.b if frame.is_a?(String)
            text = frame["base64"] if frame.is_a?(Hash) && frame.size == 1
            return text.unpack1("m0") if text.is_a?(String)
            raise InputError, "a frame is a string or {\"base64\": \"…\"}: got #{frame.to_json}"
          rescue ArgumentError
            raise InputError, "#{text.inspect} is no base64"
          end

          def value(frame)
            text = frame.dup.force_encoding(Encoding::UTF_8)
            text.valid_encoding? ? text : {"base64" => [frame].pack("m0")}
          end
        end

        def self.of(options, terminal)
          return JSONArray.new if options[:json]
          return Hex.new(terminal) if options[:hex]
          Text.new(terminal, options[:null] ? "\0" : "\n")
        end
      end
    end
  end
end
