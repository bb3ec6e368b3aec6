# frozen_string_literal: true

module Godwit
  module Formats
    # Values are Strings of bytes.
    module Raw
      class << self
        def require_library
        end

        def dump(value)
          return value if value.is_a?(String)
          raise FormatError, "format: :raw takes a String: got #{Errors.shown(value)}"
        end

        def load(bytes) = bytes
      end
    end
  end
end
