# frozen_string_literal: true

module Godwit
  module Formats
    # Values are Strings in UTF-8.
    module Text
      class << self
        def require_library
        end

        def dump(value)
          text = value.encode(Encoding::UTF_8) if value.is_a?(String)
          return text if text&.valid_encoding?
          raise FormatError, "format: :text takes a String of valid characters: got " \
            "#{Errors.shown(value)}; use format: :raw for bytes"
        rescue EncodingError => error
          raise FormatError, "format: :text takes a String of valid characters: #{error.message}"
        end

        def load(bytes)
          text = bytes.dup.force_encoding(Encoding::UTF_8)
          return text if text.valid_encoding?
          raise FormatError.new("this value is no UTF-8", bytes: bytes)
        end
      end
    end
  end
end
