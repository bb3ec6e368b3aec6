# frozen_string_literal: true

module Godwit
  class Auth
    # A file of passwords: lines NAME=PASSWORD, as CZMQ reads them. A lookup reads a changed file
    # again.
    class PasswordFile
      LIMIT = 1 << 20 # bytes of a password file
      RACY = 0.1 # a file can change twice within these seconds and keep its time of change

      # @raise [CertError] when the file cannot be read, or others may read it
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
        !@racy && @facts == facts(File.stat(@path))
      rescue SystemCallError
        false
      end

      def facts(stat) = [stat.dev, stat.ino, stat.size, stat.mode, stat.uid, stat.mtime, stat.ctime]

      def read
        text, stat = Cert::Files.read(@path, LIMIT, pipe: false) { true }
        @passwords = Passwords.new(users(text))
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
