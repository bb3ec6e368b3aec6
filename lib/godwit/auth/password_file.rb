# frozen_string_literal: true

module Godwit
  class Auth
    # A file of lines NAME=PASSWORD, as CZMQ reads them. A lookup reads a changed file again.
    class PasswordFile
      LIMIT = 1 << 20 # most bytes of a password file

      def initialize(path)
        @path = path
        read
      end

      def match?(name, password)
        read unless unchanged?
        @passwords.match?(name, password)
      end

      private

      def unchanged?
        !@racy && @facts == Cert::Files.facts(File.stat(@path))
      rescue SystemCallError
        false
      end

      def read
        text, stat = Cert::Files.read(@path, LIMIT, pipe: false) { true }
        @passwords = Passwords.new(users(text))
        @facts = Cert::Files.facts(stat)
        @racy = Cert::Files.racy?(stat)
      rescue ArgumentValueError => error
        raise Cert::Files.failure(@path, error.message.delete_prefix("plain: "), :plain), cause: nil
      end

      # Like CZMQ, skips comments and each line without NAME=PASSWORD.
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
