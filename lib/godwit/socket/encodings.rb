# frozen_string_literal: true

module Godwit
  class Socket
    # The encoding of received Strings.
    module Encodings
      # @return [Encoding] of received Strings
      def encoding = _encoding

      # @param encoding [Encoding, String]
      # @raise [ArgumentValueError, ArgumentTypeError] when the encoding is unknown
      def encoding=(encoding)
        _set_encoding(Encodings.find(encoding))
      end

      # @private
      def self.check(_socket, encoding) = encoding && find(encoding)

      # @private
      def self.start(socket, encoding)
        socket.encoding = encoding if encoding
      end

      # @private
      def self.find(encoding)
        Encoding.find(encoding) || raise(::ArgumentError)
      rescue ::ArgumentError
        raise Errors.bad_value(:encoding, "encoding:",
          "an Encoding that Ruby knows, such as \"UTF-8\"", encoding), cause: nil
      rescue ::TypeError
        allowed = "an Encoding or its name"
        raise Errors.bad_type(:encoding, "encoding:", allowed, encoding), cause: nil
      end
    end
  end
end
