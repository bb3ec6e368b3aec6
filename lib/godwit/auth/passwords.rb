# frozen_string_literal: true

module Godwit
  class Auth
    # Names and passwords, compared in constant time. `inspect` hides them.
    # @private
    class Passwords
      # The most bytes that a name or a password may have.
      LONGEST = 255
      # The number of 32-bit words into which a password is unpacked.
      WORDS = 64
      private_constant :LONGEST, :WORDS

      # @param users [Hash{String => String}]
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

      # Takes as long for an unknown name as for a wrong password.
      # @return [Boolean]
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

    # A file of passwords: lines NAME=PASSWORD, as CZMQ reads them. A lookup reads a changed file
    # again.
    # @private
    class PasswordFile
      LIMIT = 1 << 20
      RACY = 0.1 # a file can change twice within these seconds and keep its time of change
      private_constant :LIMIT, :RACY

      # @raise [CertError] when the file cannot be read, or others may read it
      def initialize(path)
        @path = path
        read
      end

      # @return [Boolean]
      # @raise [CertError]
      def match?(name, password)
        read unless unchanged?
        @passwords.match?(name, password)
      end

      private

      def unchanged?
        !@racy && @facts == facts(File.stat(@path))
      rescue SystemCallError
        false
      end

      def facts(stat) = [stat.dev, stat.ino, stat.size, stat.mode, stat.uid, stat.mtime, stat.ctime]

      def read
        text, stat = Cert::Files.read(@path, LIMIT, pipe: false) { true }
        @passwords = Passwords.new(users(text), :plain)
        @facts = facts(stat)
        @racy = Time.now - stat.ctime < RACY
      rescue ArgumentValueError => error
        raise Cert::Files.failure(@path, error.message.delete_prefix("plain: "), :plain), cause: nil
      end

      # CZMQ skips comments and each line without NAME=PASSWORD.
      def users(text)
        text.each_line.with_object({}) do |line, users|
          name, equals, password = line.b.chomp.partition("=")
          next if name.empty? || equals.empty? || name.start_with?("#")
          users[name] = password
        end
      end
    end
    private_constant :PasswordFile
  end
end
