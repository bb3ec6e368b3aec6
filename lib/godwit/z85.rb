# frozen_string_literal: true

module Godwit
  # Z85 writes 4 bytes as 5 printable characters, for keys in files and on command lines.
  # @see https://rfc.zeromq.org/spec/32/ ZeroMQ RFC 32
  module Z85
    # The 85 characters in order of value.
    ALPHABET =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    VALUES = ALPHABET.each_char.with_index.to_h.freeze
    private_constant :VALUES

    # @param bytes [String] a multiple of 4 bytes
    # @return [String] 5 US-ASCII characters for each 4 bytes
    # @raise [ArgumentValueError] when the length is no multiple of 4
    # @raise [ArgumentTypeError] when `bytes` is no String
    def self.encode(bytes)
      raise Errors.bad_type(:encode, "Z85", "a String", bytes) unless bytes.is_a?(String)
      unless (bytes.bytesize % 4).zero?
        raise ArgumentValueError, "Z85 encodes multiples of 4 bytes: got #{bytes.bytesize}"
      end
      text = bytes.unpack("N*").map { |number|
        [4, 3, 2, 1, 0].map { |power| ALPHABET[number / 85**power % 85] }.join
      }.join
      Runtime.ascii(text)
    end

    # @param text [String] a multiple of 5 characters
    # @return [String] binary, 4 bytes for each 5 characters
    # @raise [ArgumentValueError] when the length is no multiple of 5, or the text is not Z85
    # @raise [ArgumentTypeError] when `text` is no String
    def self.decode(text)
      raise Errors.bad_type(:decode, "Z85", "a String", text) unless text.is_a?(String)
      unless (text.length % 5).zero?
        raise ArgumentValueError, "Z85 is a multiple of 5 characters: got #{text.length}"
      end
      text.each_char.each_slice(5).map { |group| number(group) }.pack("N*")
    end

    # @private
    def self.number(group)
      number = group.inject(0) do |sum, character|
        value = VALUES[character]
        raise ArgumentValueError, "no character of Z85: #{character.inspect}" unless value
        sum * 85 + value
      end
      return number if number <= 0xffffffff
      raise ArgumentValueError,
        "no group of Z85, it stands for more than 4 bytes: #{group.join.inspect}"
    end
  end
end
