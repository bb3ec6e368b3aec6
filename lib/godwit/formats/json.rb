# frozen_string_literal: true

module Godwit
  module Formats
    # JSON; `load` returns the keys of objects as Symbols.
    module Json
      class << self
        def require_library
          require "json" unless defined?(::JSON::VERSION) # only the main Ractor can require
        end

        def dump(value)
          ::JSON.generate(value)
        rescue ::JSON::JSONError, EncodingError => error
          raise FormatError, "JSON cannot hold this value (#{Printable.line(error.message)}): " \
            "convert it, or use another format:, such as :raw for bytes"
        end

        def load(bytes)
          ::JSON.parse(bytes.dup.force_encoding(Encoding::UTF_8), symbolize_names: true)
        rescue ::JSON::JSONError, EncodingError => error
          raise FormatError.new("this value is no JSON: #{Printable.line(error.message)}",
            bytes: bytes)
        end
      end
    end
  end
end
