# frozen_string_literal: true

module Godwit
  class Auth
    # Names and passwords, compared in constant time. `inspect` hides them.
    class Passwords
      # @raise [ArgumentValueError, ArgumentTypeError] without the password in the message
      def initialize(users)
        unless users.is_a?(Hash) && users.all? { |pair| pair.all?(String) }
          got = users.is_a?(Hash) ? "other values" : users.class
          raise Errors.of(ArgumentTypeError, :plain,
            "users: takes a Hash of names and passwords, Strings: got #{got}")
        end
        @words = users.to_h { |name, password|
          check(name, password)
          [name.b.freeze, words(password)]
        }.freeze
        @nobody = words("").freeze
        freeze
      end

      # Compares a password. An unknown name takes as long as a wrong password.
      def match?(name, password)
        known = @words[name.b]
        given = words((password.bytesize > User::LONGEST) ? "" : password)
        differences = 0
        expected = known || @nobody
        given.each_with_index { |word, index| differences |= word ^ expected[index] }
        differences.zero? && !known.nil?
      end

      def inspect = "#<#{self.class} #{@words.size} users>"

      private

      def check(name, password)
        raise Errors.bad_value(:plain, "a name", User::ALLOWED, name) unless User.id?(name)
        return if password.bytesize.between?(1, User::LONGEST)
        raise Errors.of(ArgumentValueError, :plain, "the password of #{name.inspect} takes 1 to " \
          "#{User::LONGEST} bytes: got #{password.bytesize}")
      end

      # A password as 32-bit numbers: a byte with its length, its bytes, zeros as padding.
      def words(password)
        bytes = password.b
        ([bytes.bytesize].pack("C") + bytes.ljust(User::LONGEST, "\0")).unpack("N*")
      end
    end
    private_constant :Passwords
  end
end
