# frozen_string_literal: true

module Godwit
  class Auth
    # Names and passwords, compared in constant time. `inspect` hides them.
    class Passwords
      # The most bytes of a name or a password, as in libzmq.
      LONGEST = 255
      # The number of 32-bit words into which a password is unpacked.
      WORDS = 64

      # @raise [ArgumentValueError, ArgumentTypeError] without the password in the message
      def initialize(users, operation = :plain)
        unless users.is_a?(Hash) && users.all? { |pair| pair.all?(String) }
          raise ArgumentTypeError.new(
            "#{operation}: users: takes a Hash of names and passwords, Strings: " \
            "got #{users.is_a?(Hash) ? "other values" : users.class}", operation: operation
          )
        end
        @words = users.to_h { |name, password|
          check(operation, name, password)
          [name.b.freeze, words(password)]
        }.freeze
        @nobody = words("").freeze
        freeze
      end

      # Compares a password. An unknown name takes as long as a wrong password.
      def match?(name, password)
        known = @words[name.b]
        given = words((password.bytesize > LONGEST) ? "" : password)
        differences = 0
        expected = known || @nobody
        given.each_with_index { |word, index| differences |= word ^ expected[index] }
        differences.zero? && !known.nil?
      end

      def inspect = "#<#{self.class} #{@words.size} users>"

      private

      def check(operation, name, password)
        unless User.id?(name)
          raise Errors.bad_value(operation, "a name", User::ALLOWED, name)
        end
        return if password.bytesize.between?(1, LONGEST)
        raise ArgumentValueError.new(
          "#{operation}: the password of #{name.inspect} takes 1 to #{LONGEST} bytes: got " \
          "#{password.bytesize}", operation: operation
        )
      end

      # The first byte is the length, because zeros pad the password.
      def words(password)
        bytes = password.b
        ([bytes.bytesize].pack("C") + bytes.ljust(LONGEST, "\0")).unpack("N#{WORDS}")
      end
    end
    private_constant :Passwords
  end
end
