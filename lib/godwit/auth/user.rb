# frozen_string_literal: true

module Godwit
  class Auth
    # Checks and converts user ids.
    module User
      LONGEST = 255 # bytes of a name or a password, as in libzmq
      ALLOWED = "1 to #{LONGEST} bytes of UTF-8 without NUL"

      module_function

      # An id with a NUL is refused, since libzmq would cut the id there.
      def id?(id)
        return false unless id.is_a?(String)
        text = utf8(id)
        text.valid_encoding? && text.bytesize.between?(1, LONGEST) && !text.include?("\0")
      rescue EncodingError
        false
      end

      def utf8(id)
        return id.dup.force_encoding(Encoding::UTF_8) if id.encoding == Encoding::BINARY
        id.encode(Encoding::UTF_8)
      end
    end
    private_constant :User
  end
end
